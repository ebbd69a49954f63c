"""The embedded judge: ONNX models shipped with the package, and rules of English that outrank them.

`judge` is the entry point. `english` decomposes, `evidence` picks pieces of evidence, `models` verifies, `support` weighs the
results; `mentions`, `quantities` and `opposites` hold the rules, `forms` reads Markdown, HTML and code.
"""

from vista_guard.judges.embedded.judge import EmbeddedJudge

__all__ = ["EmbeddedJudge"]
