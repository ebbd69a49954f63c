"""Reports made by hand, with all that a page may have to show, and with scripts in every place that people or models fill."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from vista_guard import _aio
from vista_guard.stores.reports import SqlReports
from vista_guard.types import (
    Action,
    Attempt,
    Claim,
    Decision,
    Document,
    DraftSpan,
    Evidence,
    Finding,
    JudgeInfo,
    Label,
    Outcome,
    Passage,
    RepairMode,
    SourceKind,
    Span,
    Timings,
    TurnReport,
    TurnTexts,
    Unchecked,
)

SCRIPT = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
MARKDOWN = "**bold** [link](javascript:document.title='owned') :red[red] $x^2$ :material/delete:"
HOSTILE = f"{SCRIPT} {MARKDOWN}"

HARBOUR = Document(
    id="harbour",
    title="The harbour 🛟",
    text="The harbour was dug in 1702.\nThe lighthouse is 31 metres tall. It is painted red.",
)


def finding(number: str, text: str, label: Label, span: Span | None = None, **more: object) -> Finding:
    """A claim with its label."""
    claim = Claim(id=number, text=text, span=span)
    given = {"confidence": 0.9, "reason": f"says the judge of {text}", **more}
    return Finding(claim=claim, label=label, **given)


def quoted(quote: str, document: Document = HARBOUR) -> Evidence:
    """A quote of a document."""
    start = document.text.index(quote)
    span = Span(start=start, end=start + len(quote))
    return Evidence(
        source=SourceKind.DOCUMENT, source_id=document.id, quote=quote, title=document.title, span=span, score=0.93
    )


def report(
    number: int, response: str, outcomes: tuple[Outcome, ...], action: Action = Action.ALLOW, **more: object
) -> TurnReport:
    """A report with plausible figures; `number` is the turn's place, and how many minutes ago it was, counted from 40."""
    whole = (DraftSpan(draft=Span(start=0, end=len(response)), response=Span(start=0, end=len(response))),)
    given: dict[str, object] = {
        "id": f"{number:032x}",
        "conversation_id": "harbour-talk",
        "decision": Decision(action=action, reason=f"because of {len(outcomes)} claims"),
        "score": 0.5,
        "turn_key": f"{number:016x}",
        "gate": "turn",
        "draft_spans": () if action is Action.BLOCK else whole,
        "created_at": datetime.now(UTC) - timedelta(seconds=60 - number),
        **more,
    }
    return TurnReport(
        turn_index=number,
        response=response,
        outcomes=outcomes,
        evidence_missing=False,
        judge=JudgeInfo(name="scripted", version="1"),
        policy="balanced",
        timings=Timings(gather=2, decompose=11, verify=61, decide=0.4, total=74.4),
        **given,
    )


def talk() -> list[tuple[TurnReport, TurnTexts | None]]:
    """A conversation with every label and action, overlapping claims, knowledge, a repair, and a turn without texts."""
    first = "🛟 The harbour was dug in 1702. The lighthouse is 31 metres tall."
    told = finding(
        "t1.c1",
        "The harbour was dug in 1702.",
        Label.VERIFIED,
        Span(start=2, end=30),
        evidence=(quoted("The harbour was dug in 1702."),),
    )
    tall = finding(
        "t1.c2",
        "The lighthouse is 31 metres tall.",
        Label.VERIFIED,
        Span(start=31, end=64),
        evidence=(quoted("The lighthouse is 31 metres tall."),),
    )
    both = finding("t1.c3", "The harbour has a tall lighthouse.", Label.LACKING_EVIDENCE, Span(start=6, end=45))
    known = Evidence(
        source=SourceKind.KNOWLEDGE, source_id=f"{1:016x}:t1.c2", quote="The lighthouse is 31 metres tall.", score=0.8
    )
    small = finding(
        "t3.c1", "The lighthouse is nine metres tall.", Label.CONTRADICTED, Span(start=0, end=35), evidence=(known,)
    )
    knowledge = (
        Passage(source=SourceKind.KNOWLEDGE, source_id=f"{1:016x}:t1.c2", text="The lighthouse is 31 metres tall."),
        Passage(
            source=SourceKind.PERSONA,
            source_id="p:0",
            text=f"The assistant is a pilot. {SCRIPT}",
            title=f"Pilot {SCRIPT}",
        ),
    )
    blue = finding(
        "t5.c1",
        "It is painted blue.",
        Label.CONTRADICTED,
        Span(start=0, end=19),
        evidence=(quoted("It is painted red."),),
    )
    red = finding(
        "t5.c1", "It is painted red.", Label.VERIFIED, Span(start=0, end=18), evidence=(quoted("It is painted red."),)
    )
    asked = Attempt(
        outcomes=(blue,),
        decision=Decision(action=Action.REPAIR, reason="t5.c1 contradicted"),
        repair=RepairMode.REGENERATE,
    )
    rest = "I like it. I don't know who paints it. def f(): pass"
    lost = Unchecked(
        claim=Claim(id="t7.c3", text="def f(): pass", span=Span(start=39, end=52)),
        error="code is not judged",
        what="code",
    )
    likes = finding("t7.c1", "The assistant likes it.", Label.OUT_OF_SCOPE, Span(start=0, end=10))
    unknown = finding("t7.c2", "The assistant does not know who paints it.", Label.ABSTENTION, Span(start=11, end=38))
    return [
        (
            report(1, first, (told, tall, both), Action.FLAG, trace_id="a" * 32, span_id="b" * 16),
            TurnTexts(user_text="Tell me about the harbour.", documents=(HARBOUR,)),
        ),
        (
            report(3, "I can't say.", (small,), Action.BLOCK, score=0.0),
            TurnTexts(
                user_text="So it is small?",
                draft="The lighthouse is nine metres tall.",
                documents=(HARBOUR,),
                evidence=knowledge,
            ),
        ),
        (
            report(5, "It is painted red.", (red,), Action.REPAIR, attempts=(asked,)),
            TurnTexts(user_text="Which colour?", documents=(HARBOUR,)),
        ),
        (report(7, rest, (likes, unknown, lost)), TurnTexts(user_text="Do you like it?")),
        (
            report(
                9,
                "I can't say.",
                (finding("t9.c1", "It sank.", Label.CONTRADICTED, Span(start=0, end=8)),),
                Action.BLOCK,
            ),
            None,
        ),
    ]


def hostile() -> tuple[TurnReport, TurnTexts]:
    """One turn that has a script wherever there is text."""
    response = f"Yes: {HOSTILE}"
    document = Document(id=f"d{SCRIPT}", title=f"Title {HOSTILE}", text=f"Before. {HOSTILE} After.")
    claim = finding(
        f"c{SCRIPT}", f"Claim {HOSTILE}", Label.CONTRADICTED, Span(start=5, end=len(response)), reason=f"Reason {HOSTILE}",
        evidence=(quoted(HOSTILE, document),), judged_by=f"judge {SCRIPT}",
    )  # fmt: skip
    lost = Unchecked(claim=Claim(id="c2", text=f"Lost {HOSTILE}"), error=f"Error {HOSTILE}", raw=f"Raw {HOSTILE}")
    told = report(
        1, response, (claim, lost), Action.FLAG, id="f" * 32, conversation_id=f"talk {HOSTILE}", tenant=f"tenant {HOSTILE}",
        decision=Decision(action=Action.FLAG, reason=f"Because {HOSTILE}"), warnings=(f"Warning {HOSTILE}",),
        attempts=(Attempt(outcomes=(claim,), decision=Decision(action=Action.REPAIR, reason=f"First {HOSTILE}")),),
    )  # fmt: skip
    persona = Passage(source=SourceKind.PERSONA, source_id="p", text=f"Persona {HOSTILE}", title=f"Name {HOSTILE}")
    texts = TurnTexts(user_text=f"User {HOSTILE}", draft=f"Draft {HOSTILE}", documents=(document,), evidence=(persona,))
    return told.model_copy(
        update={"policy": f"policy {SCRIPT}", "judge": JudgeInfo(name=f"judge {SCRIPT}", version="1")}
    ), texts


def write(file: Path, *turns: tuple[TurnReport, TurnTexts | None]) -> str:
    """Writes turns into a database, and returns its URL."""

    async def writing() -> None:
        store = SqlReports(f"sqlite:///{file}", record="full")
        for told, texts in turns:
            await (store.write(told) if texts is None else store.write_turn(told, texts))
        await store.aclose()

    _aio.run(writing())  # in a thread of its own: Playwright has a loop running in this one
    return f"sqlite:///{file}"
