"""Pages of the dashboard that look at many turns."""
