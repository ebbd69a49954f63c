"""A study with people: sheets for annotators, drawn from runs and logs; what they agree on, and the paper's tables of it."""
