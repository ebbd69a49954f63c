"""LLM-OASIS (Scirè et al. 2024), as the hub has it: what each step of its generation made, and its gold without labels.

Parquet files. Steps: `title` and `text` (a passage of a Wikipedia page) with `claims`; or with `factual_claim` and
`unfactual_claim`, lists of pairs; or with a paraphrase; or with an unfactual text. Gold: `id`, `text`; `id`, `claim`, `evidence`.
Labels of the steps are by construction, a model's and not people's; those of the gold are the publishers' secret.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vista_guard.errors import InputError
from vista_guard.types import Claim, Document, Label
from vista_lab.datasets.files import DataSet, Row, answer, labelled, parquet_rows, reader
from vista_lab.logs.source import LoggedConversation, TurnGold

FACTUAL, UNFACTUAL, BLIND = "factual", "unfactual", "blind"
_NOT_TRIED = "written from the publisher's description, not tried on its files"


def extracted_claims(row: Row) -> Iterator[LoggedConversation]:
    """A passage's claims as the turn's text and as its own claims; all are taken to be in the passage."""
    texts = [claim.strip() for claim in row.texts("claims") if claim.strip()]
    if not texts:
        raise InputError("claims is empty")
    claims = tuple(Claim(id=f"t0.c{number}", text=text) for number, text in enumerate(texts, 1))
    turn = answer(" ".join(texts), (_passage(row),)).model_copy(update={"claims": claims})
    entry = labelled(row, _name(row), (turn,), _gold(row, FACTUAL))
    yield replace(entry, labels={claim.id: Label.VERIFIED for claim in claims})


def falsified_claims(row: Row) -> Iterator[LoggedConversation]:
    """Each claim of a passage and its falsified version."""
    right, wrong = _texts(row, "factual_claim"), _texts(row, "unfactual_claim")
    if len(right) != len(wrong) or not right:
        raise InputError(f"factual_claim has {len(right)} claims and unfactual_claim {len(wrong)}; expected as many")
    for number, (true, false) in enumerate(zip(right, wrong, strict=True), 1):
        for label, text in ((FACTUAL, true), (UNFACTUAL, false)):
            name = f"{_name(row)}/{label}-{number}"
            yield labelled(row, name, (answer(text, (_passage(row),)),), _gold(row, label))


def paraphrased_text(row: Row) -> Iterator[LoggedConversation]:
    """A passage in other words."""
    text = row.nonblank(_column(row, "paraphrase"))
    yield labelled(row, _name(row), (answer(text, (_passage(row),)),), _gold(row, FACTUAL))


def altered_text(row: Row) -> Iterator[LoggedConversation]:
    """A text with one altered claim, beside the passage."""
    text = row.nonblank(_column(row, "unfactual", "text"))
    yield labelled(row, _name(row), (answer(text, (_passage(row),)),), _gold(row, UNFACTUAL))


def blind_text(row: Row) -> Iterator[LoggedConversation]:
    """A text of the gold (Task 1): it brings no document, and nobody says whether it is true."""
    yield labelled(row, row.nonblank("id"), (answer(row.nonblank("text")),), TurnGold(BLIND, None))


def blind_claim(row: Row) -> Iterator[LoggedConversation]:
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
    """A list of claims; one claim where a release has it as a text."""
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


def data_sets() -> Iterator[DataSet]:
    """The parts of the released set, and its gold."""
    licence = "CC BY-NC-SA 4.0: evaluation only, no weights of ours are made of it"
    source = "huggingface.co/datasets/Babelscape/LLM-Oasis_{of}; Scirè et al. 2024"
    unnamed = "its column of texts is found by its name, which the publisher's page does not print"
    for name, of, title, make, counts, note in (
        (
            "extraction", "claim_extraction", "claim extraction", extracted_claims, (67_426, 13_849),
            "claims of a passage, all true",
        ),
        (
            "falsification", "claim_falsification", "claim falsification", falsified_claims, (42_749, 9_641),
            "each claim and its falsified version; Table 2 has 81,275 of them",
        ),
        (
            "paraphrases", "paraphrase_generation", "factual texts", paraphrased_text, (0, 0),
            f"passages in other words; {unnamed}",
        ),
        (
            "unfactual", "unfactual_text_generation", "unfactual texts", altered_text, (0, 13_838),
            f"texts with one altered claim; {unnamed}",
        ),
    ):  # fmt: skip
        for split, count in zip(("train", "validation"), counts, strict=True):
            file = f"{split}-00000-of-00001.parquet"
            rows = f"{count:,} rows, " if count else ""
            yield DataSet(
                name=f"oasis-{name}-{split}",
                title=f"LLM-OASIS, {title}",
                source=source.format(of=of),
                licence=licence,
                split=split,
                files=(f"LLM-Oasis_{of}/{file}",),
                read=reader(parquet_rows, make),
                sample=f"{rows}{note}; labelled by construction, not by people; {_NOT_TRIED}",
                origins={f"LLM-Oasis_{of}/{file}": f"hf:Babelscape/LLM-Oasis_{of}/data/{file}"},
            )
    for number, of, title, make, note in (
        (1, "e2e_factuality_evaluation", "end to end", blind_text, "1,708 texts without documents"),
        (2, "claim_verification", "claims with evidence", blind_claim, "2,656 claims, each with a factual text"),
    ):
        file = "gold-00000-of-00001.parquet"
        yield DataSet(
            name=f"oasis-gold-task{number}",
            title=f"LLM-OASIS gold, {title}",
            source=source.format(of=of),
            licence=licence,
            split="gold",
            files=(f"LLM-Oasis_{of}/{file}",),
            read=reader(parquet_rows, make),
            test=True,
            sample=f"{note}; blind: the publishers keep the labels, see vista-guard oasis submit; {_NOT_TRIED}",
            origins={f"LLM-Oasis_{of}/{file}": f"hf:Babelscape/LLM-Oasis_{of}/data/{file}"},
            retrieves=number == 1,
        )
