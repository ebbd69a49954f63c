"""A turn that comes in pieces: gates, and what waits behind them."""
