"""The steps. Each says what the one before it left, and is never changed once it was released."""
