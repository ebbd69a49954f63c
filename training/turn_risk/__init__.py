"""The turn's risk fitted: turns that are faithful or not, judged as users run the judge, become coefficients in ``risk.json``."""
