"""What a person sees of a report."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from vista_guard.cli.common import visible
from vista_guard.cli.render import report_view
from vista_guard.types import (
    Action,
    Claim,
    Decision,
    Evidence,
    Finding,
    JudgeInfo,
    Label,
    Nearest,
    SourceKind,
    Timings,
    TurnReport,
    Unchecked,
)


def report(response: str = "The pier is old, and lovely.") -> TurnReport:
    document = Evidence(source=SourceKind.DOCUMENT, source_id="d1", quote="It is old.", title="pier.txt", score=0.91)
    known = Evidence(source=SourceKind.KNOWLEDGE, source_id="k1", quote="The pier is not lovely.", score=0.7)
    return TurnReport(
        conversation_id="c",
        turn_index=1,
        response=response,
        outcomes=(
            Finding(
                claim=Claim(id="t1.c1", text="The pier is old."),
                label=Label.VERIFIED,
                confidence=0.91,
                evidence=(document,),
                reason="A document says so.",
            ),
            Finding(
                claim=Claim(id="t1.c2", text="The pier is [bold]lovely[/bold]."),
                label=Label.CONTRADICTED,
                confidence=0.7,
                evidence=(known,),
                reason="An earlier turn says otherwise.",
            ),
            Unchecked(claim=Claim(id="t1.c3", text="The pier is long."), error="the judge did not answer"),
        ),
        decision=Decision(action=Action.FLAG, reason="t1.c2 contradicted", claim_ids=("t1.c2",)),
        score=0.5,
        evidence_missing=False,
        judge=JudgeInfo(name="embedded", version="1"),
        policy="monitor",
        timings=Timings(total=12.3),
    )


def drawn(shown: TurnReport, **options: object) -> str:
    console = Console(file=StringIO(), width=72, highlight=False, **options)  # type: ignore[arg-type]  # passed through
    console.print(report_view(shown))
    assert isinstance(console.file, StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())


def test_a_whole_report() -> None:
    assert (
        drawn(report())
        == """\
╭─ delivered, flagged ─────────────────────────────────────────────────╮
│ The pier is old, and lovely.                                         │
╰──────────────────────────────────────────────────────────────────────╯
VERIFIED 0.91  The pier is old.
    “It is old.” document pier.txt, 0.91
    A document says so.
CONTRADICTED 0.70  The pier is [bold]lovely[/bold].
    “The pier is not lovely.” knowledge k1, 0.70
    An earlier turn says otherwise.
UNCHECKED  The pier is long.
    the judge did not answer

FLAG: t1.c2 contradicted
VISTA score 0.50 (1 of 2 judged claims safe) · 12 ms · judge embedded 1
· policy monitor"""
    )


def test_what_came_nearest_stands_where_there_is_no_evidence() -> None:
    near = Nearest(
        source=SourceKind.DOCUMENT, source_id="d1", quote="It is made of wood.", title="pier.txt", overlap=0.4
    )
    lacking = Finding(
        claim=Claim(id="t1.c1", text="The pier is iron."),
        label=Label.LACKING_EVIDENCE,
        confidence=0.9,
        reason="Nothing says so.",
        nearest=near,
    )
    lines = drawn(report().model_copy(update={"outcomes": (lacking,)})).splitlines()
    assert "    “It is made of wood.” nearest, in pier.txt" in lines


def test_nothing_judged_and_no_evidence() -> None:
    empty = report().model_copy(update={"outcomes": (), "score": None, "evidence_missing": True})
    lines = drawn(empty).splitlines()[3:]
    assert lines == [
        "",
        "FLAG: t1.c2 contradicted",
        "There was no evidence to verify against.",
        "no VISTA score: nothing was judged · 12 ms · judge embedded 1 · policy",
        "monitor",
    ]


def test_labels_have_colours_and_texts_have_none() -> None:
    shown = drawn(report("\x1b[2J\x1b[31mred"), force_terminal=True, color_system="standard")
    assert "\x1b[1;32mVERIFIED 0.91\x1b[0m" in shown
    assert "\x1b[1;31mCONTRADICTED 0.70\x1b[0m" in shown
    assert "�[2J�[31mred" in shown


def test_what_steers_a_terminal_is_made_visible() -> None:
    assert visible("a\tb\nc") == "a\tb\nc"
    assert visible("\x1b]0;title\x07\r\x9b31m\u202egnorw\u2069") == "�]0;title���31m�gnorw�"
    assert visible("naïve café שלום 日本 👩‍🚒") == "naïve café שלום 日本 👩‍🚒"
