"""How the shipped models were made: data, train, heads, export, calibrate, evaluate."""
