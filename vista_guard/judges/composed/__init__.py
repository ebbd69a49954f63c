"""Judges made of other judges: cached, recorded, cascade, ensemble."""
