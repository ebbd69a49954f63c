"""A small study, and annotators who fill in its sheets: by code, with the csv module, as a spreadsheet would."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path

from vista_guard.evaluation.study.drawing import Judged, Wish, draw
from vista_guard.evaluation.study.forms import form
from vista_guard.evaluation.study.records import Material, save
from vista_guard.testing import WordEmbedder
from vista_guard.types import (
    Action,
    Claim,
    Conversation,
    Decision,
    Document,
    Finding,
    JudgeInfo,
    Label,
    Role,
    Timings,
    Turn,
    TurnReport,
)
from vista_lab.logs.source import LoggedConversation, TurnGold
from vista_lab.runs.plan import Source

V, SCOPE, CONTRADICTED, LACKING, ABSTENTION = Label
EMBEDDER = WordEmbedder()

Change = Mapping[tuple[str, str], Mapping[str, str]]
"""By turn and claim of a sheet, what is written into which column."""

TALKS: Mapping[str, tuple[tuple[str, bool, tuple[tuple[str, Label], ...]], ...]] = {
    "pier": (
        (
            "The pier opened in 1911. I love it.",
            False,
            (("The pier opened in 1911.", V), ("The assistant loves it.", SCOPE)),
        ),
        ("=It is 310 m long.", True, (("=The pier is 310 m long.", LACKING),)),
    ),
    "tower": (("The tower has a lift.", False, (("The tower has a lift.", CONTRADICTED),)),),
    "ferry": (("I do not know when it goes.", False, (("The assistant does not know when it goes.", ABSTENTION),)),),
    "mill": (("The mill is red.", True, (("The mill is red.", V),)),),
}
"""Assistant turns, what the data set says of them, and their claims with the run's labels."""


def source(name: str = "harbour") -> Source:
    """The talks as a log."""
    return Source(name, lambda: iter([_entry(talk) for talk in TALKS]), {f"{name}.json": "ab" * 32})


def judged(name: str = "harbour") -> Judged:
    """A run over them."""
    reports = {
        (talk, 2 * place + 1): _report(talk, 2 * place + 1, text, claims)
        for talk, turns in TALKS.items()
        for place, (text, _, claims) in enumerate(turns)
    }
    return Judged("run", reports, name, {f"{name}.json": "ab" * 32})


def study(folder: Path, *, run: bool = True, **wish: object) -> Material:
    """The study, with the sheets of three in the folder."""
    asked = Wish(("ada", "ben", "cleo"), **wish)  # type: ignore[arg-type]  # as the test wants it
    material = draw([source()], [judged()] if run else [], asked)
    save(material, folder)
    for name in asked.annotators:
        (folder / f"{name}.tsv").write_bytes(form(material).encode("utf-8"))
    return material


def fill(path: Path, changes: Change, label: str = "verifiable", then: Callable[[str], bytes] | None = None) -> Path:
    """Confirms every claim with this label, but for the changes. `then` makes the file's bytes of its text."""
    text = path.read_bytes().decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter="\t"))
    for row in rows:
        if row["claim"] and not row["claim"].startswith("new"):
            row |= {"handling": "confirm", "label": label}
        row |= changes.get((row["id"], row["claim"]), {})
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0].keys(), delimiter="\t", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(file.getvalue().encode("utf-8") if then is None else then(file.getvalue()))
    return path


def _entry(talk: str) -> LoggedConversation:
    turns: list[Turn] = []
    gold = {}
    for place, (text, positive, claims) in enumerate(TALKS[talk]):
        known = tuple(Claim(id=f"t{2 * place + 1}.c{number}", text=said) for number, (said, _) in enumerate(claims, 1))
        turns.append(Turn(role=Role.USER, text=f"Question {place + 1}?"))
        documents = (Document(id="d", title="Guide", text=f"About the {talk}:\tit is old."),)
        turns.append(Turn(role=Role.ASSISTANT, text=text, documents=documents, claims=known))
        gold[2 * place + 1] = TurnGold("hallucinated" if positive else "faithful", positive)
    return LoggedConversation(Conversation(turns=tuple(turns), id=talk), {}, gold=gold)


def _report(talk: str, index: int, text: str, claims: tuple[tuple[str, Label], ...]) -> TurnReport:
    outcomes = tuple(
        Finding(claim=Claim(id=f"t{index}.c{number}", text=said), label=label, confidence=0.9, reason="so it says")
        for number, (said, label) in enumerate(claims, 1)
    )
    return TurnReport(
        conversation_id=talk,
        turn_index=index,
        response=text,
        outcomes=outcomes,
        decision=Decision(action=Action.ALLOW, reason="monitor"),
        score=0.5,
        evidence_missing=False,
        judge=JudgeInfo(name="scripted", version="1"),
        policy="monitor",
        timings=Timings(),
    )
