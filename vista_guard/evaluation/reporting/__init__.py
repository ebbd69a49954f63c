"""Runs side by side in the layouts of the paper's tables, made from their folders alone."""
