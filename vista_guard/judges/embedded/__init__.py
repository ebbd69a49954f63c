"""The embedded judge: ONNX models shipped with the package."""

from vista_guard.judges.embedded.judge import EmbeddedJudge

__all__ = ["EmbeddedJudge"]
