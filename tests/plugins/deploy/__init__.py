"""Dockerfile, chart and workflows, read by the tools that are made for it."""
