"""One sentence on a decision, for people: `Blocked: contradicts Cafe: “has 48 seats”, 90 %`. Quotes evidence, and no claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from vista_guard.policy.links import link_words
from vista_guard.policy.turn_risk import HELD_AGAINST
from vista_guard.types import UNCHECKED, Action, Evidence, Finding, Label, Outcome, SourceKind, TurnReport, label_of

DONE: Final = {Action.ALLOW: "Allowed", Action.FLAG: "Flagged", Action.REPAIR: "Repaired", Action.BLOCK: "Blocked"}

WORST: Final = (
    Label.CONTRADICTED.value,
    Label.LACKING_EVIDENCE.value,
    UNCHECKED,
    Label.ABSTENTION.value,
    Label.OUT_OF_SCOPE.value,
    Label.VERIFIED.value,
)
"""Labels, the most serious first."""

BAD: Final = frozenset({*HELD_AGAINST, UNCHECKED})
"""Labels for which a turn is withheld, and claims that could not be judged."""

_SOURCES: Final = {
    SourceKind.KNOWLEDGE: "an earlier turn",
    SourceKind.HISTORY: "an earlier turn",
    SourceKind.PERSONA: "the persona",
    SourceKind.CHANNEL: "what this chat can do",
}
_UNJUDGED: Final = {
    "claim": "a claim could not be judged",
    "code": "code is not judged",
    "encoded": "unreadable text could not be judged",
}


QUOTE_CHARS: Final = 100
"""Most characters of a quote."""


class Explanation(NamedTuple):
    """A sentence in parts: what was `done`, and why. `source` is the evidence's name, for pages to emphasise, or empty."""

    done: str
    before: str
    source: str = ""
    after: str = ""

    @property
    def text(self) -> str:
        """The whole sentence."""
        return f"{self.done}: {self.before}{self.source}{self.after}"


def worst(report: TurnReport) -> Outcome | None:
    """Returns the outcome that decided: the most serious of the claims that the decision names, of the draft it was about.

    Example:
        >>> from vista_guard import Guard, Label
        >>> from vista_guard.testing import ScriptedJudge, Verdict, assistant, conversation, user
        >>> judge = ScriptedJudge({"It opens at six.": [Verdict("It opens at six.", Label.CONTRADICTED, confidence=0.9)]})
        >>> talk = conversation(user("When does it open?"), assistant("It opens at six.", "It opens at nine."))
        >>> report = Guard(judge, "balanced").check(talk)
        >>> worst(report).claim.text
        'It opens at six.'
        >>> explain(report).text
        'Blocked: contradicts the evidence, 90 %'
    """
    return min(_blamed_outcomes(report), key=_gravity, default=None)


def explain(report: TurnReport) -> Explanation:
    """Says what was done and why, with the evidence's name and the judge's confidence."""
    done, blamed, outcomes = DONE[report.decision.action], _blamed_outcomes(report), report.outcomes
    links = link_words(report.links) if report.decision.action is not Action.ALLOW else ""
    if links and not _with_ids(outcomes, report.decision.claim_ids) and not report.attempts:
        return Explanation(done, links)
    if not blamed:
        return Explanation(done, "no claim to verify")
    if report.decision.action is Action.ALLOW:
        good = sum(label_of(outcome) == Label.VERIFIED for outcome in outcomes)
        return Explanation(done, f"{good} of {_claims(len(outcomes))} verified")
    more = f", and {_claims(len(blamed) - 1, 'more ')}" if len(blamed) > 1 else ""
    before, source, after = _why(min(blamed, key=_gravity), report.evidence_missing, more)
    return Explanation(done, before, source, f"{after}; {links}" if links else after)


def _why(outcome: Outcome, evidence_missing: bool, more: str) -> tuple[str, str, str]:
    if not isinstance(outcome, Finding):
        return _UNJUDGED[outcome.what], "", more
    more = f", {100 * outcome.confidence:.0f} %{more}"
    if outcome.label is Label.CONTRADICTED:
        return "contradicts ", source_name(outcome.evidence), f"{_quoted(outcome.evidence)}{more}"
    if evidence_missing:
        return "no evidence was given", "", ""
    if outcome.label is Label.LACKING_EVIDENCE:
        return "no evidence supports a claim", "", more
    return outcome.label.replace("_", " ").lower(), "", more


def source_name(evidence: Sequence[Evidence]) -> str:
    """Names the first piece of evidence: a document's title, an earlier turn, the persona."""
    if not evidence:
        return "the evidence"
    first = evidence[0]
    return _SOURCES.get(first.source) or first.name


def _quoted(evidence: Sequence[Evidence]) -> str:
    """Quotes the first piece of evidence, on one line."""
    quote = " ".join(evidence[0].quote.split()) if evidence else ""
    cut = quote if len(quote) <= QUOTE_CHARS else f"{quote[: QUOTE_CHARS - 1].rstrip()}…"
    return f": “{cut}”" if cut else ""


def answer_number(turn_index: int) -> int:
    """Counts answers as a person does, from 1, in a conversation in which user and assistant take turns.

    Example:
        >>> [answer_number(index) for index in (1, 3, 6)]  # the last after a system message
        [1, 2, 3]
    """
    return max((turn_index + 1) // 2, 1)


def _blamed_outcomes(report: TurnReport) -> list[Outcome]:
    """The outcomes that the decision is about. For a regenerated turn, those of its last refused draft."""
    own = _with_ids(report.outcomes, report.decision.claim_ids)
    if report.decision.action is Action.REPAIR and not own and report.attempts:
        attempt = report.attempts[-1]
        return _with_ids(attempt.outcomes, attempt.decision.claim_ids) or list(attempt.outcomes)
    bad = [outcome for outcome in report.outcomes if label_of(outcome) in BAD]
    return own or bad or list(report.outcomes)


def _with_ids(outcomes: Sequence[Outcome], names: Sequence[str]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.claim.id in names]


def _gravity(outcome: Outcome) -> tuple[int, float]:
    return WORST.index(label_of(outcome)), -outcome.confidence if isinstance(outcome, Finding) else 0.0


def _claims(count: int, more: str = "") -> str:
    return f"{count} {more}claim{'' if count == 1 else 's'}"
