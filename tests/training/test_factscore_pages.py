"""FActScore's Wikipedia pages as a dump: topics are joined by biography or title, passages cut, topics without a page named."""

from __future__ import annotations

import gzip
import json
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from training import factscore_pages
from vista_lab.systems.evidence import SEPARATOR


def lines(path: Path, *rows: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def test_each_topic_gets_the_page_of_its_biography_or_title(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    topics = {"Ada Moll": "Ada is a baker.", "Ada Moll Junior": "Junior sings.", "Ben Ott": "Ben rows."}
    chatgpt, perplexity = factscore_pages.BIOGRAPHIES
    lines(tmp_path / chatgpt, *({"topic": topic, "output": text} for topic, text in topics.items()))
    lines(tmp_path / perplexity, {"topic": "Ben Ott", "output": "Ben Ott rows."})
    long = " ".join(f"w{number}" for number in range(200))
    pages = [
        {
            "bio": "Ada is a baker.",
            "page": f"<s>Ada Moll Ada Moll (born 1900) is a baker.</s><s>{long}</s>",
            "facts": [],
        },
        {"bio": "of another model", "page": "<s>Ada Moll Junior Junior is a singer.</s>", "facts": []},
        {"bio": "of another model", "page": "<s>Somebody Else is known.</s>", "facts": []},
    ]
    for name in factscore_pages.PAGES:
        lines(tmp_path / name, *(pages if "/chatgpt" in name else pages[2:]))
    out = tmp_path / "wiki.db"
    monkeypatch.setattr(sys, "argv", ["factscore_pages", "--data", str(tmp_path), "--out", str(out)])
    factscore_pages.main()
    assert capsys.readouterr().out == f"2 pages in {out}; topics without a page: Ben Ott\n"
    with closing(sqlite3.connect(out)) as dump:
        found = dict(dump.execute("SELECT title, text FROM documents"))
    assert found["Ada Moll Junior"] == "Ada Moll Junior Junior is a singer."
    first, second = found["Ada Moll"].split(SEPARATOR)
    assert (len(first.split()), second.split()[-1]) == (factscore_pages.WORDS, "w199")
    with pytest.raises(SystemExit):
        factscore_pages.main()
