"""Deployment files, checked as they stand and started where Docker is there."""
