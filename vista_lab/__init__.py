"""What looks at many turns afterwards, makes data and trains. It stands on `vista_guard`, which never imports it."""
