"""The sheet of one annotator, in the form of the paper's page (VISTA, App. C.2), and how a filled one is read.

A turn has a row of its own with what has to be read, then a row for each claim and some for claims that are missing. Rows may be
sorted: `id` and `claim` say what each is of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from vista_guard.evaluation.study import cells
from vista_guard.evaluation.study.records import Material, Study, StudyTurn
from vista_guard.reading.visible import visible
from vista_guard.types import Conversation, Label, Role, Turn

ID, CLAIM, CONTEXT, QUESTION, DOCUMENT, TURN, TEXT, HANDLING, NEW_TEXT, LABEL, NOTES, STUDY = COLUMNS = (
    "id", "claim", "context", "question", "document", "turn", "text", "handling", "new_text", "label", "notes", "study",
)  # fmt: skip
"""`text` is the claim as it was found, `new_text` what it should say; `study` how the sample was drawn."""

SUGGESTED = "suggested"
"""A column more where labels are shown."""

NEEDED = (ID, CLAIM, TEXT, HANDLING, NEW_TEXT, LABEL, NOTES)
"""Columns that a filled sheet must have."""

NEW = "new"
"""Before the number of a claim that the annotator adds."""

ROOM = 3
"""Rows for claims that are missing. Annotators may put in more."""

NO_CLAIMS = "no claims"
"""In the turn's own row: it was read, and makes no claim."""

LONGEST = 30_000
"""Characters of a cell: spreadsheets hold 32,767, and cut the rest without a word. Quotes are counted, too."""

WORDS: Mapping[Label, str] = {
    Label.VERIFIED: "verifiable",
    Label.CONTRADICTED: "contradicted",
    Label.LACKING_EVIDENCE: "lacking evidence",
    Label.OUT_OF_SCOPE: "out of scope",
    Label.ABSTENTION: "abstention",
}
"""The paper's words for the five labels, as annotators read and write them."""

HOW_TO = """How to fill in your sheet

Each turn of a conversation has one row with what to read: the context, the user's question, the documents, and the turn itself.
Below it are the claims that were found in the turn, one a row. Work alone, and from the documents and the conversation only.

1. handling: confirm (the claim is right as it stands), edit (then write what it should say into new_text), or delete.
   What you leave empty counts as confirm, or as edit where new_text is filled.
2. label: verifiable, contradicted, lacking evidence, out of scope or abstention. Deleted claims get none.
   verifiable: the documents, or what was established before in the conversation, say so.
   contradicted: they say otherwise.
   lacking evidence: a statement of fact that they neither say nor deny.
   out of scope: opinion, feeling, experience: nothing that a document could prove.
   abstention: the assistant says that it does not know, or cannot answer.
3. A claim is missing: write it into new_text of a row whose claim is new 1, new 2 or new 3, and label it. Put in more rows
   (new 4, …) if needed.
4. The turn makes no claim at all, and none is listed: write "no claims" into handling of the turn's own row.
5. notes: anything you want to say, on a turn or on a claim.

Open the sheet as UTF-8, with the tab as the only separator and " around texts. Do not change id, claim and text. A cell that
begins with ' is text, and the ' no part of it; put one before a number or a date that you write into new_text. Save as text with
tabs (or CSV), in UTF-8, with " around texts (LibreOffice: Save As, Text CSV; Excel: Save As, CSV UTF-8).

This study: {about}
"""


def form(material: Material) -> str:
    """An annotator's sheet, empty. All get the same."""
    columns = [*COLUMNS, SUGGESTED] if material.study.shown else COLUMNS
    return cells.table(columns, _rows(material))


def too_long(material: Material) -> dict[str, str]:
    """Texts that no cell holds, by the file that they go into."""
    found = {}
    for turn in material.study.turns:
        for name, text in _reading(turn, material.conversations[turn.talk]).items():
            if len(text) > LONGEST:
                found[_file(turn, name)] = visible(text)
    return found


def _rows(material: Material) -> Iterator[Sequence[str]]:
    study = material.study
    for turn in study.turns:
        yield _head(turn, study, material.conversations[turn.talk])
        for claim in turn.claims:
            suggested = [WORDS[turn.found[claim.id]] if claim.id in turn.found else ""] if study.shown else []
            yield [turn.id, claim.id, "", "", "", "", claim.text, "", "", "", "", "", *suggested]
        for number in range(1, ROOM + 1):
            yield [turn.id, f"{NEW} {number}", *[""] * (len(COLUMNS) - 2 + study.shown)]


def _head(turn: StudyTurn, study: Study, talk: Conversation) -> Sequence[str]:
    texts = [_fitting(turn, name, text) for name, text in _reading(turn, talk).items()]
    return [turn.id, "", *texts, "", "", "", "", "", study.about, *([""] if study.shown else [])]


def _reading(turn: StudyTurn, talk: Conversation) -> dict[str, str]:
    before, said = talk.turns[: turn.turn_index], talk.turns[turn.turn_index]
    asked = max((place for place, one in enumerate(before) if one.role is Role.USER), default=None)
    context = [one for place, one in enumerate(before) if place != asked and one.text.strip()]
    return {
        CONTEXT: "\n".join(f"{one.role}: {one.text}" for one in context),
        QUESTION: "" if asked is None else before[asked].text,
        DOCUMENT: _documents(said),
        TURN: said.text,
    }


def _documents(turn: Turn) -> str:
    texts = [f"{one.title}\n{one.text}" if one.title else one.text for one in turn.documents]
    if len(texts) == 1:
        return texts[0]
    return "\n\n".join(f"[{number}] {text}" for number, text in enumerate(texts, 1))


def _fitting(turn: StudyTurn, name: str, text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST - 200]}…\n\n[cut here: all {len(text):,} characters are in texts/{_file(turn, name)}]"


def _file(turn: StudyTurn, name: str) -> str:
    return f"{turn.id}.{name}.txt"
