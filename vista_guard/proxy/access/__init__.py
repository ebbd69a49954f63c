"""Who may call, as whom, how much, and whose conversation it is."""
