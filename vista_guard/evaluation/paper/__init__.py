"""The paper's printed tables as data, and what of them can be recomputed without a model."""
