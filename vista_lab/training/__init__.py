"""Training: the shipped models, and a team's own extractor, retriever and verifier.

`train` is the one training loop, built on `model`, `examples`, `average`, `shipped` and `export`. `oasis` trains a
part on a generated set by a recipe of `recipes.toml`: `extractor`, `retriever` and `nli` know the three parts, `rows` refuses
unfit data, `figures` measures a model. `verifiers` calibrates a verifier. The shipped weights are trained in `training/`.
"""
