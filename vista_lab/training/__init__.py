"""Training: the one loop (`train`, on `model`, `examples` and `lora`), rows, recipes, and how a model is exported.

Tasks train on it: `oasis` an extractor, a retriever and a verifier, `decompose` a decomposer. The shipped weights are trained in
`training/`.
"""
