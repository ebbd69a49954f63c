"""A Python assertion for promptfoo: `get_assert`, as `type: python` calls it.

promptfoo wants a file of your own. One line is enough, with the interpreter that has vista-guard in `PROMPTFOO_PYTHON`:

    from vista_guard.integrations.evals.promptfoo import get_assert
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vista_guard.errors import ConfigError
from vista_guard.integrations.evals.case import Case, given_documents
from vista_guard.integrations.evals.grader import shared_grader

if TYPE_CHECKING:
    from vista_guard.integrations.evals.verdict import JudgedClaim, Verdict

CONFIG = ("judge", "policy", "documents", "min_score", "turns")


def get_assert(output: Any, context: Mapping[str, Any]) -> dict[str, Any]:
    """Whether what the provider answered is carried by its evidence.

    The assertion's `config` may have `judge`, `policy`, `documents`, `turns` (all, last) and `min_score`, a least VISTA score
    that decides in place of the policy. Evidence are the config's documents, and `documents` or `context` of the test's vars.
    What was asked is the prompt, as text or as chat messages in JSON.

    Returns:
        promptfoo's GradingResult. `score` is the VISTA score, `componentResults` has one result a claim with its quotes. Where
        nothing was judged it does not pass, the reason begins with "not judged", and the named score `vista_not_judged` is 1:
        promptfoo knows no third answer, and `not-python` would turn that one round.

    Raises:
        ConfigError: the config has an unknown key, or names an unknown judge or policy.
        InputError: output or documents cannot be read. promptfoo shows both as errors of the assertion.
    """
    config = _config(context.get("config") or {})
    found = given_documents(config.get("documents"))
    case = Case.of_run(_asked(context), output, documents=found, turns=config.get("turns", "all"))
    verdict = shared_grader(config.get("judge"), config.get("policy")).grade(case)
    return _result(verdict, config.get("min_score"))


def _config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    unknown = sorted(set(config) - set(CONFIG))
    if unknown:
        raise ConfigError(f"the assertion's config has {', '.join(unknown)}; vista-guard reads {', '.join(CONFIG)}")
    return config


def _asked(context: Mapping[str, Any]) -> Mapping[str, Any]:
    """The prompt as messages, with the documents of the test's vars."""
    found = context.get("vars") or {}
    asked = {key: found[key] for key in ("documents", "context") if found.get(key)}
    return {**asked, "messages": _messages(context.get("prompt"))}


def _messages(prompt: Any) -> list[Any]:
    """A prompt is a text, or a chat's messages written as JSON."""
    if not isinstance(prompt, str):
        return list(prompt or ())
    try:
        read = json.loads(prompt)
    except ValueError:
        read = None
    if isinstance(read, list) and all(isinstance(message, dict) and "role" in message for message in read):
        return read
    return [{"role": "user", "content": prompt}] if prompt.strip() else []


def _result(verdict: Verdict, min_score: float | None) -> dict[str, Any]:
    judged = verdict.score is not None
    named = {"vista_score": verdict.score} if judged else {}
    return {
        "pass": bool(verdict.holds(min_score)),
        "score": verdict.score if judged else 0.0,
        "reason": verdict.details(),
        "namedScores": {**named, "vista_not_judged": 0.0 if judged else 1.0},
        "componentResults": [_component(claim) for claim in verdict.claims],
    }


def _component(claim: JudgedClaim) -> dict[str, Any]:
    label = "not judged" if claim.label is None else f"{claim.label} {claim.confidence:.2f}"
    quotes = "".join(f' "{quote.text.strip()}"' for quote in claim.quotes)
    return {
        "pass": claim.safe,
        "score": 1.0 if claim.safe else 0.0,
        "reason": f"{label}: {claim.text} ({claim.reason}){quotes}",
    }


__all__ = ["get_assert"]
