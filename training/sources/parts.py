"""Shared by the readers of labelled sets: training and development parts, files, text as people write it, twins."""

from __future__ import annotations

import gzip
import hashlib
import html
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Literal, TypeVar

from training.rewriting.windows import best_sentences
from training.suites.loaders import clean
from vista_lab.oasis.rewriters.carrier import sentences

T = TypeVar("T")
_TOKENISED = re.compile(r"\w [,.;:?!](?:\s|$)|\w (?:n't|'s)\b|``|-LRB-")
Part = Literal["train", "dev"]
PREMISE_WORDS = 150
"""About what the verifier reads at once; a longer text is cut to the stretch that a query shares most with."""


def tenth(key: str, part: Part) -> bool:
    """True if a key belongs to the part, where every tenth key, by its hash, is for development."""
    return (int(hashlib.sha1(key.encode()).hexdigest(), 16) % 10 == 0) == (part == "dev")


def json_rows(path: Path) -> list[dict[str, Any]]:
    """A gzipped file that holds a JSON array, one object, or an object a line."""
    text = gzip.decompress(path.read_bytes()).decode("utf-8")
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.splitlines()]
    return whole if isinstance(whole, list) else [whole]


def zipped_rows(path: Path, member: str) -> Iterator[dict[str, Any]]:
    """JSON Lines inside a zip."""
    with zipfile.ZipFile(path) as archive, archive.open(member) as lines:
        yield from (json.loads(line) for line in lines)


def mended(text: str) -> str:
    """Tokenised text as people write it: spaces around marks, clitics, hyphens, quotes and brackets undone."""
    if not _TOKENISED.search(text):
        return re.sub(r"[ \t]+", " ", html.unescape(text)).strip()
    text = re.sub(r"\b(\d{1,3}) , (\d{3})\b", r"\1,\2", html.unescape(text).replace("\ufffd", " "))
    text = clean(re.sub(r"\b(\d{1,2}) ([.:]) (\d{1,2})\b", r"\1\2\3", text))
    text = re.sub(r"(?<=\w) (n't|'(?:s|re|ve|ll|d|m))\b", r"\1", text)
    text = re.sub(r"(?<=\w) - (?=\w)", "-", text)
    text = re.sub(r'(^|[\s(])" ([^"]*?) ?"(?=[\s.,;:!?)]|$)', r'\1"\2"', text)
    return re.sub(r" +('(?=\s|$))", r"\1", text).strip()


def ended(text: str) -> str:
    """A claim that begins with a capital and ends with a full stop."""
    text = text.strip()
    text = text[:1].upper() + text[1:]
    return text if text[-1:] in ".!?" else f"{text}."


def stretch(text: str, query: str, words: int = PREMISE_WORDS) -> str:
    """The text, or the part of a long one that the query shares most with."""
    return text if len(text.split()) <= words else best_sentences(sentences(text), query, words).text


def matched(
    good: list[T], bad: list[T], rng: Random, most: int = 2, rounds: int = 3
) -> Iterator[tuple[list[T], list[T]]]:
    """Small groups of members to be told apart; what is left over on one side stays out."""
    rng.shuffle(good)
    rng.shuffle(bad)
    for start in range(0, min(len(good), len(bad), most * rounds), most):
        yield good[start : start + most], bad[start : start + most]
