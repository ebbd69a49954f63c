"""The panel of a turn: the open claim with its evidence, then the course of the turn from first draft to delivery."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from vista_guard.dashboard.conversation.dialogue import Selected, claim_row
from vista_guard.dashboard.conversation.evidence import Sources, evidence_of, knowledge_then
from vista_guard.dashboard.elements import address
from vista_guard.dashboard.elements.address import to
from vista_guard.dashboard.elements.tree import Act, Node, chip, clause, el, shorten
from vista_guard.dashboard.scoped import GuardedTurn
from vista_guard.policy.explanations import answer_number, explain
from vista_guard.types import Attempt, Finding, Outcome, TurnReport, label_of

_WORD = re.compile(r"\S*\s|\S+")

MOST_REASON = 600
"""Most characters of a policy's reason that are shown unfolded."""

MOST_ADDRESS = 200
"""Most characters of a link's address that are shown."""

MOST_COMPARED = 20_000
"""Most characters, of draft and delivered text together, that are compared word by word."""


def course(turn: GuardedTurn, chosen: Selected, trace_url: str | None) -> list[Node | None]:
    """Draws decision, earlier drafts, repair, stages, figures and trace, in that order."""
    report = turn.report
    return [
        el("p", clause(explain(report), whole=True), cls="because"),
        *_policy_reason(report.decision.reason),
        *(_attempt(turn, place, attempt, chosen) for place, attempt in enumerate(report.attempts, 1)),
        _difference(turn),
        el("div", el("h4", "Stages"), _stages(report)),
        _facts(report),
        _warnings(report),
        _trace(report, trace_url),
    ]


def _policy_reason(reason: str) -> list[Node]:
    """Draws the policy's reason; a long one, which names many claims, is folded behind its beginning."""
    told = f"Policy: {reason}"
    if len(told) <= MOST_REASON:
        return [el("p", told, cls="small faint text")]
    whole = el("details", el("summary", "The whole reason"), el("p", told, cls="small faint text"))
    return [el("p", shorten(told, MOST_REASON), cls="small faint text"), whole]


def _attempt(turn: GuardedTurn, place: int, attempt: Attempt, chosen: Selected) -> Node:
    what = f"Draft {place}, not delivered" + (f": {attempt.repair}" if attempt.repair else "")
    rows = (claim_row(turn, outcome, chosen, place) for outcome in attempt.outcomes)
    return el(
        "details",
        el("summary", what),
        el("p", attempt.decision.reason, cls="small text"),
        el("ul", *rows, cls="claims small"),
        open="",
    )


def _difference(turn: GuardedTurn) -> Node | None:
    draft = turn.texts.draft if turn.texts else None
    delivered = turn.report.response
    if draft is None or draft == delivered:
        return None
    return el("details", el("summary", "Draft against delivered"), compare(draft, delivered))


def compare(draft: str, delivered: str) -> Node:
    """Draws the word-by-word difference of two texts."""
    if len(draft) + len(delivered) > MOST_COMPARED:
        return el("div", el("p", draft, cls="text out"), el("p", delivered, cls="text in"), cls="differs")
    old, new = _WORD.findall(draft), _WORD.findall(delivered)
    parts: list[Node | str] = []
    for operation, start, end, into, upto in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if operation == "equal":
            parts.append("".join(old[start:end]))
            continue
        if start < end:
            parts.append(el("span", el("span", "taken out: ", cls="hidden"), "".join(old[start:end]), cls="out"))
        if into < upto:
            parts.append(el("span", el("span", "put in: ", cls="hidden"), "".join(new[into:upto]), cls="in"))
    return el("p", *parts, cls="text differs small")


def _stages(report: TurnReport) -> Node:
    """Draws a lane for each stage, one after the other. Repeated stages are summed."""
    durations: dict[str, float] = {
        name: value for name, value in report.timings.model_dump().items() if name != "total" and value > 0
    }
    total = sum(durations.values()) or 1.0
    lanes, offset = [], 0.0
    for name, duration in durations.items():
        bar = el("span", cls="bar", style={"left": 100 * offset / total, "width": 100 * duration / total})
        lane = el("span", bar, cls="lane", aria_hidden="true")
        time = el("span", address.span_of(duration), cls="took")
        lanes.append(el("li", el("span", name), lane, time, cls="stage"))
        offset += duration
    return el("ol", *lanes, cls="stages") if lanes else el("p", "No times were kept.", cls="faint small")


def _facts(report: TurnReport) -> Node:
    usage, suffix = report.usage, "" if report.risk_calibrated else ", not calibrated"
    facts: dict[str, Any] = {
        "judge": f"{report.judge.name} {report.judge.version}",
        "policy": report.policy + (f" ({report.rules})" if report.rules else ""),
        "gate": report.gate,
        "tenant": report.tenant,
        "risk": None if report.risk is None else f"{report.risk:.2f}{suffix}",
        "remembered": len(report.remembered) or None,
        "links": ", ".join(shorten(link.address, MOST_ADDRESS) for link in report.links) or None,
        "calls": f"{usage.calls}, {usage.input_tokens} + {usage.output_tokens} tokens" if usage.calls else None,
        "cost": f"${usage.cost:.4f}" if usage.cost else None,
        "report": report.id,
        "conversation": address.own_name(report.conversation_id, report.tenant),
        "when": address.exact(report.created_at),
    }
    rows = [
        part for name, value in facts.items() if value is not None for part in (el("dt", name), el("dd", str(value)))
    ]
    return el("dl", *rows, cls="facts")


def _warnings(report: TurnReport) -> Node | None:
    if not report.warnings:
        return None
    return el("div", el("h4", "Warnings"), el("ul", *(el("li", line, cls="small text") for line in report.warnings)))


def _trace(report: TurnReport, template: str | None) -> Node | None:
    if report.trace_id is None:
        return None
    if template is None:
        text = f"Trace {report.trace_id}. With dashboard.trace_url in the settings this is a link."
        return el("p", text, cls="small faint text")
    href = template.format(trace_id=report.trace_id, span_id=report.span_id or "")
    return el("p", el("a", "Open the trace", href=href), cls="small")


@dataclass(frozen=True)
class Beside:
    """Context of the panel: sources of evidence, template of trace links, permission to review."""

    sources: Sources
    trace_url: str | None = None
    may_review: bool = False


def panel(turn: GuardedTurn | None, chosen: Selected, beside: Beside) -> Node:
    """Draws the panel, or an invitation to open a turn."""
    if turn is None:
        return el(
            "aside",
            el("p", "Select a marked claim or a turn to see the reasons for its verdict.", cls="faint"),
            cls="panel idle",
        )
    outcome = chosen.outcome(turn)
    if outcome is None:
        lost = None if chosen.claim is None else el("p", f"This turn has no claim {chosen.claim!r}.", cls="note")
        title = el("h3", f"Answer {answer_number(turn.report.turn_index)}")
        return _panel(title, lost, _review_link(turn, beside), *course(turn, chosen, beside.trace_url), idle=True)
    close = el("button", "✕", cls="close", act=Act("close"), aria_label="Close the claim")
    return _panel(
        el("div", _verdict(outcome), close, cls="top"),
        el("p", outcome.claim.text, cls="statement"),
        el("p", _reason(outcome), cls="small text"),
        *evidence_of(outcome, turn, beside.sources),
        _steps(turn.report, outcome),
        knowledge_then(turn, beside.sources),
        _review_link(turn, beside),
        el(
            "details",
            el("summary", f"Answer {answer_number(turn.report.turn_index)}: course and figures"),
            *course(turn, chosen, beside.trace_url),
        ),
    )


def _steps(report: TurnReport, outcome: Outcome) -> Node | None:
    """Draws how the claim's sentence was split, from the steps of its first claim."""
    drafts = (report.outcomes, *(attempt.outcomes for attempt in report.attempts))
    own = next((outcomes for outcomes in drafts if outcome in outcomes), ())
    of_sentence = (part.claim.steps for part in own if part.claim.span == outcome.claim.span and part.claim.steps)
    steps = next(of_sentence, None)
    if steps is None:
        return None
    return el("details", el("summary", "How its sentence was split into claims"), el("p", steps, cls="small text"))


def _review_link(turn: GuardedTurn, beside: Beside) -> Node | None:
    return to("review", "Wrong verdict? Review it", turn=turn.report.id) if beside.may_review else None


def _panel(*parts: Node | None, idle: bool = False) -> Node:
    return el("aside", *parts, cls=f"panel{' idle' if idle else ''}", aria_label="Evidence", tabindex="0")


def _verdict(outcome: Outcome) -> Node:
    if not isinstance(outcome, Finding):
        return el("div", chip(label_of(outcome)), el("span", f"a {outcome.what}", cls="faint small"), cls="row")
    by = None if outcome.judged_by is None else el("span", f"by {outcome.judged_by}", cls="faint small")
    confidence = el("span", f"confidence {outcome.confidence:.2f}", cls="faint small")
    return el("div", chip(label_of(outcome)), confidence, by, cls="row")


def _reason(outcome: Outcome) -> str:
    if isinstance(outcome, Finding):
        return outcome.reason
    return f"Not judged: {outcome.error}" + (f"\nThe judge answered: {outcome.raw}" if outcome.raw else "")
