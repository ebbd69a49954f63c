"""Checks of the figures that papers print against others that imply them, and the tables as printed: `make paper-tables`."""
