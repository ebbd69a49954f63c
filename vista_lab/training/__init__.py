"""Training: the shipped models, and a team's own extractor, retriever and verifier.

`train` is the one training loop; `model`, `examples`, `average`, `shipped` and `export` are what it stands on. `oasis` trains a
part on a generated set by a recipe of `recipes.toml`: `extractor`, `retriever` and `nli` know the three parts, `rows` what must
not be trained on, `figures` how well a model does. `verifiers` calibrates a verifier. How the shipped weights came about:
`training/`.
"""
