"""What can be said about a verifier that users bring: how its outputs are read, and how it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

FamilyName = Literal["nli", "minicheck", "hhem", "factcg", "alignscore", "lettucedetect"]
LabelName = Literal["supported", "contradicted", "not_enough"]


class VerifierOptions(BaseModel):
    """How the model that `verifier` names is read and run. Unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    family: FamilyName | None = None
    """How the model takes its input and what its outputs are; told from its name and configuration when not given."""
    labels: tuple[LabelName, ...] | None = None
    """What each output of the model means, in order, where its `id2label` does not say."""
    file: str | None = None
    """The ONNX file inside the folder, for example `onnx/model_quantized.onnx`; `model.onnx` or `onnx/model.onnx` when not
    given."""
    device: str = "cpu"
    """`cpu`, or `cuda` where onnxruntime or torch has it."""
    max_tokens: int | None = Field(default=None, ge=32)
    """Most tokens of a claim with its evidence; longer evidence is read in windows. What the model was made for when not
    given."""
    batch_size: int | None = Field(default=None, ge=1)
    """Pairs in one pass, 8 when not given, 1 for quantised ONNX files: there a pair's scores depend on its neighbours."""
    calibration: Path | None = None
    """What `vista-guard calibrate --verifier` wrote: temperature and thresholds for this very verifier."""


DEFAULTS = VerifierOptions()
