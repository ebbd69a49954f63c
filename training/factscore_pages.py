"""The Wikipedia pages of FActScore's topics, as a dump of its form: ``python -m training.factscore_pages --data DIR --out FILE``.

The whole dump has 20 GB. QC-NLI gives the page of each biography (``eval/factscore-evidence``): a biography's topic is that of
the same text in ``factscore/``, else the longest one that its page begins with. Topics without a page are named. Passages of
180 words stand for FActScore's of 256 tokens. ``vista-guard eval factscore-chatgpt-a1-test --evidence wiki:FILE`` reads them.
"""

from __future__ import annotations

import argparse
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from training.data import data_argument
from vista_lab.datasets.files import Row, json_rows
from vista_lab.systems.evidence import SEPARATOR

BIOGRAPHIES = ("factscore/ChatGPT.jsonl", "factscore/PerplexityAI.jsonl")
PAGES = tuple(f"eval/factscore-evidence/{name}.jsonl.gz" for name in ("chatgpt", "perplexityai", "instructgpt"))
WORDS = 180


def topics(data: Path) -> Mapping[str, str]:
    """The topic of each biography's text."""
    return {row.text("output"): row.text("topic") for name in BIOGRAPHIES for row in _rows(data / name)}


def pages(data: Path, known: Mapping[str, str]) -> dict[str, str]:
    """The page of each topic that has one."""
    found: dict[str, str] = {}
    for row in (row for name in PAGES for row in _rows(data / name)):
        page = " ".join(row.text("page").replace("<s>", " ").replace("</s>", " ").split())
        titles = [topic for topic in known.values() if page.startswith(f"{topic} ")]
        topic = known.get(row.text("bio")) or max(titles, key=len, default=None)
        if topic is not None:
            found.setdefault(topic, page)
    return found


def _rows(path: Path) -> Iterator[Row]:
    return (row for row in json_rows(path) if isinstance(row, Row))


def write(out: Path, found: Mapping[str, str]) -> None:
    """A SQLite file with the table `documents(title, text)`."""
    texts = [(topic, SEPARATOR.join(_cut(page.split()))) for topic, page in found.items()]
    with closing(sqlite3.connect(out)) as dump, dump:
        dump.execute("CREATE TABLE documents (title PRIMARY KEY, text)")
        dump.executemany("INSERT INTO documents VALUES (?, ?)", texts)


def _cut(words: Sequence[str]) -> Iterator[str]:
    return (" ".join(words[start : start + WORDS]) for start in range(0, len(words), WORDS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_argument(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="a SQLite file that is not there yet")
    args = parser.parse_args()
    if args.out.exists():
        parser.error(f"{args.out} exists; name another file")
    known = topics(args.data)
    found = pages(args.data, known)
    write(args.out, found)
    missing = sorted(set(known.values()) - set(found))
    print(f"{len(found)} pages in {args.out}; topics without a page: {', '.join(missing) or 'none'}")


if __name__ == "__main__":
    main()
