"""The answers of two cohorts side by side as one HTML file, each fact and statement with its verdict.

KnowMT-Bench, Fig. 1 and App. K. Texts of models are escaped, and the page's own content policy runs no script and loads nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vista_guard.errors import ConfigError, InputError
from vista_guard.stores.line_file import write_whole
from vista_lab.dialogues.delivery import Delivery, PairFinding, PairReading, delivery
from vista_lab.dialogues.questions import QuestionItem
from vista_lab.dialogues.scored import Cohort
from vista_lab.tables.pages import content_policy, page_environment

MOST = 300
"""Most items shown: those whose S_f or S_h differ most."""
_SIGNS = {"entailed": "✓", "contradicted": "✗", "both": "⚠", "neither": "–", "unjudged": "?"}
_STYLE = (
    ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem auto;max-width:90rem;padding:0 1rem}"
    "article{border-top:1px solid;padding:.5rem 0 1rem}.two{display:grid;gap:1.5rem}"
    "@media(min-width:50rem){.two{grid-template-columns:1fr 1fr}}"
    ".text{white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext;text-align:start}"
    ".answer{border-left:3px solid;padding-left:.7rem}"
    "ul{list-style:none;padding:0}li{overflow-wrap:anywhere}.sign{display:inline-block;width:1.3em;font-weight:bold}"
    ".word,.figures{font-size:.85em;opacity:.85}h2{font-size:1.1rem}h3,h4{margin:.6rem 0 .2rem;font-size:1rem}"
    ".entailed .sign{color:#1a7f37}.contradicted .sign{color:#c62828}.both .sign{color:#b26a00}"
)


@dataclass(frozen=True)
class AnswerSide:
    """One cohort's answer to an item, with every pair judged."""

    answer: str
    withheld: str | None
    action: str | None
    figures: Delivery
    facts: tuple[tuple[str, PairFinding], ...]
    statements: tuple[tuple[str, PairFinding], ...]


@dataclass(frozen=True)
class ItemAnswers:
    """Both answers to an item."""

    item: QuestionItem
    sides: tuple[AnswerSide, AnswerSide]

    @property
    def distance(self) -> float:
        """Distance of the two answers: the larger difference of S_f and S_h, in [0, 1]."""
        one, other = (side.figures for side in self.sides)
        return max(abs(one.s_f - other.s_f), abs(one.s_h - other.s_h))


def write_answers(path: Path, cohorts: Sequence[Cohort], reading: PairReading = PairReading.CODE) -> int:
    """Writes the page of two cohorts with the same data set, decomposer and judge, atomically.

    Returns:
        Number of items shown.

    Raises:
        ConfigError: there are not two such cohorts, jinja2 is missing, or the file cannot be written.
        InputError: no item has a fully judged answer in both.
    """
    environment = page_environment(Path(__file__).parent)
    if len(cohorts) != 2 or cohorts[0].judged_by != cohorts[1].judged_by:
        listing = ", ".join(f"{cohort.run}: {cohort.model}, {cohort.setting}, {cohort.judge}" for cohort in cohorts)
        raise ConfigError(
            f"two cohorts of one set, decomposer and judge stand side by side; there are {listing}; choose with --setting"
        )
    both = sorted(_shared_items(cohorts, reading), key=lambda answers: (-answers.distance, answers.item.id))
    if not both:
        raise InputError("no item has an answer of both that is judged whole")
    names = [f"{side.run}: {side.model}, {side.setting}" for side in cohorts]
    text = environment.get_template("answers.html.j2").render(
        style=_STYLE,
        policy=content_policy(_STYLE),
        names=names,
        shown=both[:MOST],
        total=len(both),
        judge=cohorts[0].judge,
        decomposer=cohorts[0].decomposer,
        kind=kind,
        sign=lambda finding: _SIGNS[kind(finding)],
    )
    write_whole(path, text)
    return len(both[:MOST])


def kind(finding: PairFinding) -> str:
    """A pair's verdict in one word.

    Examples:
        >>> kind(PairFinding(True, False)), kind(PairFinding(None, False))
        ('entailed', 'unjudged')
    """
    if not finding.judged:
        return "unjudged"
    if finding.in_conflict:
        return "both"
    return "entailed" if finding.entails else "contradicted" if finding.contradicts else "neither"


def _shared_items(cohorts: Sequence[Cohort], reading: PairReading) -> list[ItemAnswers]:
    first, second = cohorts
    both = (name for name in first.by_id if name in second.by_id)
    sides = ((name, (_side(first, name, reading), _side(second, name, reading))) for name in both)
    return [ItemAnswers(first.items[name], own) for name, own in sides]


def _side(cohort: Cohort, name: str, reading: PairReading) -> AnswerSide:
    line, judged = cohort.lines[name], cohort.by_id[name]
    return AnswerSide(
        answer=line.answer or "",
        withheld=line.withheld,
        action=line.action,
        figures=delivery(judged, reading),
        facts=tuple(zip(cohort.items[name].facts, judged.facts, strict=True)),
        statements=tuple(zip(cohort.statements.get(name, ()), judged.statements, strict=True)),
    )
