"""Live: what is happening now, against the same hour last week, and the turns as they come."""
