"""The demo's output on a terminal. Drawing only."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from vista_guard.demo.museum import Step
from vista_guard.policy.turn_risk import SAFE, label_counts, macro_score, micro_score
from vista_guard.types import Action, Attempt, Evidence, Finding, Label, Outcome, Persona, SourceKind, TurnReport

COLOURS = {
    Label.VERIFIED: "green",
    Label.OUT_OF_SCOPE: "cyan",
    Label.ABSTENTION: "blue",
    Label.LACKING_EVIDENCE: "yellow",
    Label.CONTRADICTED: "red",
    Action.ALLOW: "green",
    Action.FLAG: "yellow",
    Action.REPAIR: "magenta",
    Action.BLOCK: "red",
}
WIDEST = 100
"""Columns used at most: longer lines are hard to read."""
_NEXT = (
    'Check a text of yours:   vista-guard check "It opened in 1931." -d notes.txt\n'
    "Guard an agent of yours: guarded = vista_guard.Guard.from_settings().wrap(agent)"
)
LABEL_COLUMN = max(map(len, Label)) + len(" 0.00")


def opening(persona: Persona) -> RenderableType:
    intro = Text(
        f"A visitor talks to {persona.name}, a museum's guide. Each answer is split into claims, each claim is checked "
        "against the answer's documents and what the conversation has established, and a policy decides before the "
        "visitor reads a word."
    )
    facts = Text("Known from the start: ", style="dim").append(" ".join(persona.facts))
    return Group(Text("vista-guard demo", style="bold"), intro, facts, Text())


def turn(number: int, step: Step, report: TurnReport, known: int) -> RenderableType:
    """Renders one guarded turn; `known` is the size of the knowledge after it."""
    action = report.decision.action
    parts: list[RenderableType] = [
        Rule(Text(f"{number}  {step.title}", style="bold"), align="left", style="dim"),
        Text("visitor asks   ", style="dim").append(step.question, style="default not dim"),
        *(_draft(place, attempt) for place, attempt in enumerate(report.attempts, 1)),
        Panel(Text(report.response), title=_delivery_title(action), title_align="left", border_style=COLOURS[action]),
        _claims(report.outcomes),
        Text(action, style=f"bold {COLOURS[action]}").append(f": {report.decision.reason}", style="default not bold"),
        _growth(report, known),
    ]
    difference = step.differs(report)
    if difference is not None:
        parts.append(Text(f"NOT AS SCRIPTED: {difference}", style="bold red"))
    return Group(*parts, Text())


def closing(reports: Sequence[TurnReport], differing: int) -> RenderableType:
    counts = label_counts(reports)
    total = sum(counts.values())
    table = Table("label", title="claims of the last drafts", title_justify="left", title_style="bold")
    table.add_column("claims", justify="right")
    table.add_column("counts as", justify="left")
    for label, count in counts.items():
        table.add_row(Text(label, style=COLOURS[label]), str(count), "safe" if label in SAFE else "not safe")
    unchecked = sum(len(report.unchecked) for report in reports)
    table.add_row("all", str(total), f"{unchecked} unchecked" if unchecked else "")
    mean = sum(report.timings.total for report in reports) / len(reports)
    score = f"VISTA score {_number(micro_score(reports))} over claims (micro), {_number(macro_score(reports))} over turns (macro)"
    summary = Text(score, style="bold").append(
        f"\n{len(reports)} turns, {mean:.0f} ms a turn on average, the judge's first run included",
        style="default not bold",
    )
    verdict = (
        Text("Every turn came out as scripted.", style="green")
        if not differing
        else Text(f"{differing} of {len(reports)} turns did not come out as scripted; see above.", style="bold red")
    )
    return Group(Rule(style="dim"), table, summary, verdict, Text(), Text(_NEXT))


def _draft(place: int, attempt: Attempt) -> RenderableType:
    heading = Text(f"draft {place} is withheld, and the guide is asked again:", style="dim")
    return Group(heading, Padding(_claims(attempt.outcomes), (0, 0, 0, 2)))


def _delivery_title(action: Action) -> str:
    return {
        Action.FLAG: "visitor reads, flagged",
        Action.BLOCK: "visitor reads, in place of the answer",
        Action.REPAIR: "visitor reads, repaired",
    }.get(action, "visitor reads")


def _claims(outcomes: Sequence[Outcome]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, min_width=LABEL_COLUMN)
    table.add_column()
    for outcome in outcomes:
        if isinstance(outcome, Finding):
            label = Text(f"{outcome.label} {outcome.confidence:.2f}", style=f"bold {COLOURS[outcome.label]}")
            table.add_row(label, _claim(outcome))
        else:
            table.add_row(Text("unchecked", style="bold red"), f"{outcome.claim.text}\n{outcome.error}")
    return table


def _claim(finding: Finding) -> Text:
    text = Text(finding.claim.text)
    for evidence in finding.evidence[:1]:
        text.append(f"\n“{' '.join(evidence.quote.split())}”", style="italic").append(
            f"  {_source(evidence)}", style="dim"
        )
    return text


def _source(evidence: Evidence) -> str:
    return {
        SourceKind.DOCUMENT: f"document “{evidence.name}”",
        SourceKind.KNOWLEDGE: "said earlier",
        SourceKind.PERSONA: "persona",
        SourceKind.CHANNEL: "this chat",
        SourceKind.HISTORY: "earlier turn",
    }[evidence.source]


def _growth(report: TurnReport, known: int) -> Text:
    text = Text(style="dim")
    for claim in report.remembered:
        text.append(f"+ now known: {claim.text}\n", style="not dim")
    return text.append(f"{known} statements known · {report.timings.total:.0f} ms")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
