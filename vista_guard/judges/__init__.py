"""Who judges: the embedded judge, model judges, judges made of judges, and the contract that holds each to its word."""
