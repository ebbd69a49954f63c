"""A small study, and annotators who fill in its sheets: by code, with the csv module, as a spreadsheet would."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path

from openpyxl import load_workbook

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
from vista_lab.annotate.claims import claims_of, notes_of
from vista_lab.annotate.sheets import FilledSheet, content, form_table
from vista_lab.annotate.study import JudgedRun, Sampling, StudyData, draw, save
from vista_lab.logs.source import LoggedConversation, TurnGold
from vista_lab.metrics.agreement import AnnotatedClaim
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


def judged(name: str = "harbour") -> JudgedRun:
    """A run over them."""
    reports = {
        (talk, 2 * place + 1): _report(talk, 2 * place + 1, text, claims)
        for talk, turns in TALKS.items()
        for place, (text, _, claims) in enumerate(turns)
    }
    return JudgedRun("run", reports, name, {f"{name}.json": "ab" * 32})


def works(found: FilledSheet, data: StudyData) -> dict[str, tuple[tuple[AnnotatedClaim, ...], str]]:
    """The claims and notes of a filled sheet, by turn."""
    items, form = {item.id: item for item in data.items}, data.study.form
    return {
        name: (claims_of(answers, items[name], form), notes_of(answers, form))
        for name, answers in found.answers.items()
    }


def study(folder: Path, *, run: bool = True, suffix: str = ".tsv", **wish: object) -> StudyData:
    """The study, with the sheets of three in the folder."""
    asked = Sampling(("ada", "ben", "cleo"), **wish)  # type: ignore[arg-type]  # as the test wants it
    data = draw([source()], [judged()] if run else [], asked)
    save(data, folder)
    hand_out(data, folder, suffix)
    return data


def hand_out(data: StudyData, folder: Path, suffix: str) -> None:
    """A sheet for each annotator."""
    table = form_table(data.study.form, data.items, data.study.about, hints=data.study.shown)
    for name in data.study.annotators:
        (folder / f"{name}{suffix}").write_bytes(content(table, suffix))


def fill(path: Path, changes: Change, label: str = "verifiable", then: Callable[[str], bytes] | None = None) -> Path:
    """Confirms every claim with this label, but for the changes. `then` makes a text file's bytes of its text."""
    return mark(path, changes, {"handling": "confirm", "label": label}, then)


def mark(path: Path, changes: Change, each: Mapping[str, str], then: Callable[[str], bytes] | None = None) -> Path:
    """Writes `each` into the row of every claim that was given, then the changes."""
    if path.suffix == ".xlsx":
        return _mark_workbook(path, changes, each)
    text = path.read_bytes().decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline=""), delimiter="\t"))
    for row in rows:
        if row.get("claim") and not row["claim"].startswith("new"):
            row |= each
        row |= changes.get((row["id"], row.get("claim", "")), {})
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0].keys(), delimiter="\t", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(file.getvalue().encode("utf-8") if then is None else then(file.getvalue()))
    return path


def _mark_workbook(path: Path, changes: Change, each: Mapping[str, str]) -> Path:
    book = load_workbook(path)
    sheet = book.worksheets[0]
    heads = {str(cell.value): place for place, cell in enumerate(sheet[1], 1)}
    for row in sheet.iter_rows(min_row=2):
        name = (
            str(row[heads["id"] - 1].value or ""),
            str(row[heads["claim"] - 1].value or "") if "claim" in heads else "",
        )
        given = {**each} if name[1] and not name[1].startswith("new") else {}
        for column, value in {**given, **changes.get(name, {})}.items():
            sheet.cell(row[0].row or 0, heads[column]).value = value or None
    book.save(path)
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
