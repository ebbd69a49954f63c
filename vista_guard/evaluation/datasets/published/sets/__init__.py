"""The data sets, a module each: what is in a row, and what conversation it is."""
