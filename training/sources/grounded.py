"""Chat turns beside their knowledge (BEGIN, Dziri et al. 2022) and Wikipedia claims beside cited pages (WiCE, 2023)."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

from training.pairs import Carrier, KindPair
from training.rewriting.windows import best_sentences
from training.suites.loaders import begin_responses, clean, read_jsonl
from vista_lab.datasets.pairs import NOT_ENOUGH_CLASS, SUPPORTED_CLASS, UNSUPPORTED
from vista_lab.datasets.sets import begin as begin_set
from vista_lab.oasis.rewriters.carrier import sentences

BEGIN = ("begin/begin_dev_cmu.tsv", "begin/begin_dev_tc.tsv")
WICE = ("train/wice/non_supported_tokens.train.jsonl.gz",)
FILES = (*BEGIN, *WICE)
_BEGIN_LABELS = {
    begin_set.FULLY: (SUPPORTED_CLASS,),
    begin_set.NOT_FULLY: UNSUPPORTED,
    begin_set.GENERIC: (NOT_ENOUGH_CLASS,),
}


def untreebanked(text: str) -> str:
    """Spaces around apostrophes, quotes and hyphens undone."""
    text = re.sub(r"\s+(n't|'(?:s|re|ve|ll|d|m))\b", r"\1", clean(html.unescape(text)))
    return re.sub(r"(?<=\w) - (?=\w)", "-", text)


def begin_rows(data: Path) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    """(knowledge, response, allowed labels) of the CMU-DoG and TopicalChat parts."""
    for name in BEGIN:
        for row in begin_responses(data / name):
            yield untreebanked(row.knowledge), untreebanked(row.text), _BEGIN_LABELS[row.label]


def begin(data: Path) -> Iterator[KindPair]:
    """Responses against the stretch of knowledge that they tell."""
    for number, (knowledge, response, allowed) in enumerate(begin_rows(data)):
        window = best_sentences(sentences(knowledge), response, 160)
        yield KindPair(window.text, response, allowed, "begin", "begin", f"begin-{number}")


def wice(data: Path) -> Iterator[KindPair]:
    """Sub-claims that cited pages support in part: not supported."""
    for number, row in enumerate(read_jsonl(data / WICE[0])):
        evidence, support = row["evidence"], row["supporting_sentences"]
        picked = sorted({i for group in support for i in group})  # type: ignore[attr-defined]
        text = " ".join(evidence[i] for i in picked)  # type: ignore[index]
        if text:
            yield KindPair(text, str(row["claim"]), UNSUPPORTED, "wice", "wice", f"wice-{number}")


def carriers(data: Path) -> Iterator[Carrier]:
    """Attributable responses of more than a few words."""
    for knowledge, response, allowed in begin_rows(data):
        if allowed == (SUPPORTED_CLASS,) and "?" not in response and 6 <= len(response.split()) <= 30:
            window = best_sentences(sentences(knowledge), response, 120)
            if window.share > 0.5:
                told = response[:1].upper() + response[1:]
                told = told if told[-1] in ".!" else f"{told}."
                yield Carrier(told, window.best, "begin", "", window.before, window.after)
