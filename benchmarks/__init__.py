"""Speed and memory, measured side by side with what they are held against. `python -m benchmarks --help`."""
