"""Figures over gold and predictions. Pure."""
