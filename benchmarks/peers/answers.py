"""The scripted model's answers: the same judgement of the turn, in the form that each contender's prompts require."""

from __future__ import annotations

import json
from typing import Any

from benchmarks.peers.turn import ANSWER, CLAIMS, CONTRADICTED, DOCUMENT, LACKING, QUOTES, REASONS
from vista_guard.testing import ReceivedRequest, Verdict, judge_script
from vista_guard.types import Label

_LABELS = {CONTRADICTED: Label.CONTRADICTED, LACKING: Label.LACKING_EVIDENCE}
_VERDICTS = [Verdict(claim, _LABELS.get(claim, Label.VERIFIED), quote=QUOTES.get(claim)) for claim in CLAIMS]
_OURS = judge_script({ANSWER: _VERDICTS})
_OUR_STAGES = {"decompose", "verify", "categorize", "judge", "fused"}


def answer(request: ReceivedRequest) -> str:
    """The right answer to a prompt of any contender, recognised by its answer schema, else by its words.

    An unknown prompt raises LookupError; the server then rejects the call.
    """
    if (request.schema_name or "") in _OUR_STAGES:
        return _OURS(request)
    reply = _by_schema(request) or _by_words(request.text)
    if reply is None:
        raise LookupError(f"nobody here asks this: {request.text[:200]!r}")
    return reply


def _by_schema(request: ReceivedRequest) -> str | None:
    """DeepEval and OpenAI Guardrails send the schema along."""
    fields = set((request.schema or {}).get("properties", ()))
    if fields == {"truths"}:
        return _as_json(truths=[sentence.rstrip(".") + "." for sentence in DOCUMENT.split(". ")])
    if fields == {"claims"}:
        return _as_json(claims=list(CLAIMS))
    if fields == {"verdicts"}:  # its prompt reserves "no" for contradictions
        words = {CONTRADICTED: "no", LACKING: "borderline"}
        verdicts = [{"verdict": words.get(claim, "yes"), "reason": REASONS.get(claim)} for claim in CLAIMS]
        return _as_json(verdicts=verdicts)
    if fields == {"reason"}:
        return _as_json(reason="The score is not higher because " + REASONS[CONTRADICTED])
    if fields == {"flagged", "confidence"}:
        return _as_json(flagged=True, confidence=0.9)
    return None


def _by_words(text: str) -> str | None:
    """Ragas writes its schema into the prompt; NeMo's rail asks for a word."""
    if "StatementFaithfulnessAnswer" in text:
        statements = [
            {"statement": claim, "reason": REASONS.get(claim, "Stated."), "verdict": int(claim not in REASONS)}
            for claim in CLAIMS
        ]
        return _as_json(statements=statements)
    if "StatementGeneratorOutput" in text:
        return _as_json(statements=list(CLAIMS))
    if text.rstrip().endswith("Does all of it follow?"):
        return "no"
    return None


def _as_json(**content: Any) -> str:
    return json.dumps(content)
