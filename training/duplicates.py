"""Leave out training pairs that share a run of words with a test text: ``without_test_texts(pairs, test_grams(data))``.

Test texts are every string of the ``eval`` folder, of the other files marked *test*, and of the challenge's sealed half; they are
read as runs of words and never shown. A pair goes when its claim is a test claim word for word, or when claim or premise
shares so many words in a row with any test text.
"""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from training.pairs import Pair
from training.suites import challenge
from training.suites.loaders import fever_rows

RUN = 10
"""Words in a row that are no accident."""
_SHORTEST, _LONGEST = 5, 40
"""Words of a claim that is compared whole."""
TEST_FILES = (
    "begin/begin_test_wow.tsv",
    "train/fever",
    "train/dnli",
    "rgm",
    "dialfact",
    "kqa",
    "felm",
    "bingcheck",
    "coconot",
    "eval",
)
SEALED = Path(challenge.__file__).parent / "pairs" / "sealed.jsonl.gz"
_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Words in lower case, without marks."""
    return _WORD.findall(text.lower())


def grams(text: str) -> Iterator[int]:
    """A number for each run of ``RUN`` words; a shorter text, if no mere phrase, is one run."""
    found = words(text)
    if _SHORTEST <= len(found) < RUN:
        yield hash(tuple(found))
    for start in range(len(found) - RUN + 1):
        yield hash(tuple(found[start : start + RUN]))


def strings(value: Any) -> Iterator[str]:
    """Every string inside a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


def contents(path: Path) -> Iterator[str]:
    """The texts of a file, unpacked."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            yield from (archive.read(n).decode("utf-8", "replace") for n in archive.namelist() if not n.endswith("/"))
    else:
        raw = path.read_bytes()
        yield (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8", "replace")


def texts(content: str) -> Iterator[str]:
    """The strings of JSON and JSON Lines, the cells of anything else."""
    if content.lstrip()[:1] in ("[", "{"):
        try:
            yield from strings(json.loads(content))
        except json.JSONDecodeError:
            for line in content.splitlines():
                yield from strings(json.loads(line)) if line.startswith(("{", "[")) else [line]
    else:
        for line in content.splitlines():
            yield from line.split("\t")


def test_files(data: Path) -> Iterator[Path]:
    """Files of texts that nothing is trained on."""
    for name in TEST_FILES:
        found = data / name
        inside = sorted(found.rglob("*")) if found.is_dir() else [found]
        for path in inside:
            licence = path.name.startswith(("LICENSE", "SOURCE", "README"))
            if path.is_file() and not licence and (not name.startswith("train/") or "test" in path.name):
                yield path
    yield SEALED


def test_grams(data: Path) -> set[int]:
    """The runs of words of all test texts."""
    return {gram for path in test_files(data) for text in test_texts(path) for gram in grams(text)}


def test_texts(path: Path) -> Iterator[str]:
    """The texts of one test file."""
    if path.parent.name == "fever":
        yield from (row.claim for row in fever_rows(path))
        return
    for content in contents(path):
        yield from texts(content)


def without_test_texts(pairs: Iterable[Pair], known: set[int], dropped: Counter[str]) -> Iterator[Pair]:
    """The pairs that share no run with a test text; ``dropped`` counts the others by source."""
    for pair in pairs:
        if known.isdisjoint(grams(pair.hypothesis)) and known.isdisjoint(grams(pair.premise)):
            yield pair
        else:
            dropped[pair.source] += 1
