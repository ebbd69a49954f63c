"""Readers of `sets.toml`: LLM-OASIS (Scirè et al. 2024), what each step of its generation made, and its gold without labels.

Parquet files. Steps: `title` and `text` (a passage of a Wikipedia page) with `claims`; or with `factual_claim` and
`unfactual_claim`, lists of pairs; or with a paraphrase; or with an unfactual text. Gold: `id`, `text`; `id`, `claim`, `evidence`.
Labels of the steps are by construction, a model's and not people's; those of the gold are the publishers' secret.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from vista_guard.errors import InputError
from vista_guard.types import Claim, Document, Label
from vista_lab.datasets.files import Row, answer, labelled, parquet_rows, reader
from vista_lab.logs.source import LoggedConversation, TurnGold

FACTUAL, UNFACTUAL, BLIND = "factual", "unfactual", "blind"


@partial(reader, parquet_rows)
def extraction(row: Row) -> Iterator[LoggedConversation]:
    """A passage's claims as the turn's text and as its own claims; all are taken to be in the passage."""
    texts = [claim.strip() for claim in row.texts("claims") if claim.strip()]
    if not texts:
        raise InputError("claims is empty")
    claims = tuple(Claim(id=f"t0.c{number}", text=text) for number, text in enumerate(texts, 1))
    turn = answer(" ".join(texts), (_passage(row),)).model_copy(update={"claims": claims})
    entry = labelled(row, _name(row), (turn,), _gold(row, FACTUAL))
    yield replace(entry, labels={claim.id: Label.VERIFIED for claim in claims})


@partial(reader, parquet_rows)
def falsification(row: Row) -> Iterator[LoggedConversation]:
    """Each claim of a passage and its falsified version."""
    right, wrong = _texts(row, "factual_claim"), _texts(row, "unfactual_claim")
    if len(right) != len(wrong) or not right:
        raise InputError(f"factual_claim has {len(right)} claims and unfactual_claim {len(wrong)}; expected as many")
    for number, (true, false) in enumerate(zip(right, wrong, strict=True), 1):
        for label, text in ((FACTUAL, true), (UNFACTUAL, false)):
            name = f"{_name(row)}/{label}-{number}"
            yield labelled(row, name, (answer(text, (_passage(row),)),), _gold(row, label))


@partial(reader, parquet_rows)
def paraphrases(row: Row) -> Iterator[LoggedConversation]:
    """A passage in other words."""
    text = row.nonblank(_column(row, "paraphrase"))
    yield labelled(row, _name(row), (answer(text, (_passage(row),)),), _gold(row, FACTUAL))


@partial(reader, parquet_rows)
def unfactual(row: Row) -> Iterator[LoggedConversation]:
    """A text with one altered claim, beside the passage."""
    text = row.nonblank(_column(row, "unfactual", "text"))
    yield labelled(row, _name(row), (answer(text, (_passage(row),)),), _gold(row, UNFACTUAL))


@partial(reader, parquet_rows)
def gold_texts(row: Row) -> Iterator[LoggedConversation]:
    """A text of the gold (Task 1): it brings no document, and nobody says whether it is true."""
    yield labelled(row, row.nonblank("id"), (answer(row.nonblank("text")),), TurnGold(BLIND, None))


@partial(reader, parquet_rows)
def gold_claims(row: Row) -> Iterator[LoggedConversation]:
    """A claim of the gold with its evidence (Task 2)."""
    evidence = Document(id="evidence", text=row.nonblank("evidence"))
    yield labelled(row, row.nonblank("id"), (answer(row.nonblank("claim"), (evidence,)),), TurnGold(BLIND, None))


def _name(row: Row) -> str:
    return f"{row.stem.partition('-')[0]}-{row.number}"


def _passage(row: Row) -> Document:
    return Document(id="passage", title=row.text("title"), text=row.nonblank("text"))


def _gold(row: Row, label: str) -> TurnGold:
    return TurnGold(label, label == UNFACTUAL, row.text("title"))


def _texts(row: Row, name: str) -> list[str]:
    claims = [row.text(name)] if isinstance(row.value(name), str) else row.texts(name)
    if any(not text.strip() for text in claims):
        raise InputError(f"{name} has a blank claim")
    return claims


def _column(row: Row, *words: str) -> str:
    """The column whose name has these words: the publisher's page does not print it in full."""
    columns = [name for name in row.content if all(word in str(name).lower() for word in words)]
    if len(columns) != 1:
        fields = ", ".join(map(str, row.content))
        raise InputError(f"has {len(columns)} columns with {' and '.join(words)} in the name; its fields are {fields}")
    return str(columns[0])
