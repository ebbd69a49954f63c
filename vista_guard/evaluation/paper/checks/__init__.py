"""The paper's figures, recomputed by this package's metrics from other printed figures."""
