"""The shipped files at work, as the runtime uses them: probabilities for claims, and the five-label rule."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from training.evalsets import Claims, chunks
from training.export import encode, session
from training.heads import Embed, TypeHead

__all__ = ["Claims", "Judge", "Scores", "Thresholds", "Verifier", "chunks", "combine", "decide", "softmax"]

SUPPORTED, CONTRADICTED, NOT_ENOUGH = 0, 1, 2
FIVE = ("VERIFIED", "OUT_OF_SCOPE", "CONTRADICTED", "LACKING_EVIDENCE", "ABSTENTION")


@dataclass(frozen=True)
class Thresholds:
    """``judge.json``'s thresholds; each is a probability in [0, 1].

    ``opinion_support`` is an option for the caller: what a claim of opinion or experience needs to count as supported by
    a document. Where it is not used, ``supported`` holds for every claim.
    """

    supported: float
    contradicted: float
    abstention: float
    opinion: float
    opinion_support: float = 0.0


@dataclass(frozen=True)
class Scores:
    """What is known of one claim: verifier probabilities over its evidence chunks, and claim-type probabilities."""

    supported: float
    contradicted: float
    not_enough: float
    opinion: float = 0.0
    abstention: float = 0.0


def decide(scores: Scores, limits: Thresholds, wary: bool = False) -> str:
    """The five-label rule: support first, then abstention, contradiction, opinion, and lack of evidence last.

    ``wary`` asks opinions and abstentions for ``opinion_support``.
    """
    personal = scores.opinion >= limits.opinion or scores.abstention >= limits.abstention
    if scores.supported >= (max(limits.supported, limits.opinion_support) if wary and personal else limits.supported):
        return "VERIFIED"
    if scores.abstention >= limits.abstention:
        return "ABSTENTION"
    if scores.contradicted >= limits.contradicted and scores.contradicted > scores.supported:
        return "CONTRADICTED"
    if scores.opinion >= limits.opinion:
        return "OUT_OF_SCOPE"
    return "LACKING_EVIDENCE"


def softmax(logits: np.ndarray) -> np.ndarray:
    """Row-wise."""
    e = np.exp(logits - logits.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Verifier:
    """Premise and hypothesis pairs to logits [n, 3] with a verifier ONNX file."""

    def __init__(self, folder: Path, name: str = "verifier.onnx", threads: int = 2, max_length: int = 256) -> None:
        self.session = session(folder / name, threads)
        self.tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
        self.tokenizer.enable_truncation(max_length, strategy="longest_first")

    def __call__(self, pairs: Sequence[tuple[str, str]], batch: int = 16) -> np.ndarray:
        order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]) + len(pairs[i][1]))
        out = np.zeros((len(pairs), 3), np.float32)
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            out[rows] = self.session.run(None, encode(self.tokenizer, [pairs[i] for i in rows]))[0]
        return out


class Judge:
    """Verifier, embedder and head of one weights folder."""

    def __init__(self, folder: Path, threads: int = 2, verifier: str = "verifier.onnx") -> None:
        self.settings = json.loads((folder / "judge.json").read_text())
        self.verifier = Verifier(folder, verifier, threads, self.settings.get("max_length", 256))
        self.embed, self.head = Embed(folder, threads), TypeHead(folder)

    @property
    def thresholds(self) -> Thresholds:
        """The tuned thresholds."""
        return Thresholds(**self.settings["thresholds"])

    def logits(self, claims: Claims) -> list[np.ndarray]:
        """Verifier logits of each claim over its chunks, [chunks, 3] each."""
        pairs = [
            (chunk, text)
            for evidence, text in zip(claims.evidence, claims.texts, strict=True)
            for chunk in chunks(evidence)
        ]
        counts = [len(chunks(evidence)) for evidence in claims.evidence]
        return np.split(self.verifier(pairs), np.cumsum(counts)[:-1])

    def scores(self, claims: Claims, temperature: float | None = None, types: bool = False) -> list[Scores]:
        """Probabilities of each claim: support and contradiction are maxima over chunks."""
        heat = temperature or self.settings["temperature"]
        kinds = self.head(self.embed(claims.texts), claims.texts) if types else np.zeros((len(claims.texts), 3))
        return [combine(softmax(part / heat), kind) for part, kind in zip(self.logits(claims), kinds, strict=True)]


def combine(p: np.ndarray, kind: np.ndarray) -> Scores:
    """Chunk probabilities [chunks, 3] and type probabilities [3] to one claim's scores."""
    top = p.max(0)
    return Scores(
        float(top[SUPPORTED]), float(top[CONTRADICTED]), float(p.min(0)[NOT_ENOUGH]), float(kind[1]), float(kind[2])
    )
