"""Commands that look at many turns."""
