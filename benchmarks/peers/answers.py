"""What the scripted model answers: the same judgement of the turn, in the form that each contender's prompts ask for."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.peers.turn import ANSWER, CLAIMS, CONTRADICTED, DOCUMENT, LACKING, REASONS
from vista_guard.testing import ReceivedRequest, Verdict, judge_script
from vista_guard.types import Label

_LABELS = {CONTRADICTED: Label.CONTRADICTED, LACKING: Label.LACKING_EVIDENCE}
_OURS = judge_script({ANSWER: [Verdict(claim, _LABELS.get(claim, Label.VERIFIED)) for claim in CLAIMS]})
_OUR_STAGES = {"decompose", "verify", "categorize", "judge", "fused"}


def answer(request: ReceivedRequest) -> str:
    """The right answer to a prompt of any contender, recognised by its answer schema, else by its words.

    A prompt of nobody here raises LookupError; the server then rejects the call.
    """
    if (request.schema_name or "") in _OUR_STAGES:
        return _OURS(request)
    told = _by_schema(request) or _by_words(request.text)
    if told is None:
        raise LookupError(f"nobody here asks this: {request.text[:200]!r}")
    return told


def _by_schema(request: ReceivedRequest) -> str | None:
    """DeepEval and OpenAI Guardrails send the schema along."""
    asked = set((request.schema or {}).get("properties", ()))
    if asked == {"truths"}:
        return _told(truths=[sentence.rstrip(".") + "." for sentence in DOCUMENT.split(". ")])
    if asked == {"claims"}:
        return _told(claims=list(CLAIMS))
    if asked == {"verdicts"}:  # its prompt reserves "no" for contradictions
        words = {CONTRADICTED: "no", LACKING: "borderline"}
        verdicts = [{"verdict": words.get(claim, "yes"), "reason": REASONS.get(claim)} for claim in CLAIMS]
        return _told(verdicts=verdicts)
    if asked == {"reason"}:
        return _told(reason="The score is not higher because " + REASONS[CONTRADICTED])
    if asked == {"flagged", "confidence"}:
        return _told(flagged=True, confidence=0.9)
    return None


def _by_words(text: str) -> str | None:
    """Ragas writes its schema into the prompt; NeMo's rail asks for a word."""
    if "StatementFaithfulnessAnswer" in text:
        judged = [
            {"statement": claim, "reason": REASONS.get(claim, "Stated."), "verdict": int(claim not in REASONS)}
            for claim in CLAIMS
        ]
        return _told(statements=judged)
    if "StatementGeneratorOutput" in text:
        return _told(statements=list(CLAIMS))
    if text.rstrip().endswith("Does all of it follow?"):
        return "no"
    return None


def _told(**content: Any) -> str:
    return json.dumps(content)
