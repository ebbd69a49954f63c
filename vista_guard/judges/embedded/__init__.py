"""The embedded judge: ONNX models shipped with the package, and rules of English that outrank them.

`judge` is the entry point. `english` decomposes, `evidence` picks pieces of evidence, `models` verifies, `support` weighs the
results; `mentions`, `quantities` and `opposites` hold the rules, `forms` reads Markdown, HTML and code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vista_guard.judges.embedded.judge import EmbeddedJudge

__all__ = ["EmbeddedJudge"]


def __getattr__(name: str) -> Any:
    # Who needs a list of English words loads no judge.
    if name != "EmbeddedJudge":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from vista_guard.judges.embedded.judge import EmbeddedJudge

    return EmbeddedJudge
