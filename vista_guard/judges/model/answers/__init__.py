"""Reading what a model answered. All of it is hostile input."""
