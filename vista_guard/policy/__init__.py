"""From outcomes to a decision: presets, scores and false-alarm rates. Pure."""
