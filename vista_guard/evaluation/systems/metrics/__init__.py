"""Metrics of other libraries as systems: DeepEval's and Ragas', and what users wrote for either. Imported on use."""
