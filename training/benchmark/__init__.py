"""The benchmarks of the model card: sets, protocols and one table. Needs the package and scikit-learn, but no torch."""
