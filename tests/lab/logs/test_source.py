"""Files as they are found on disks."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import pytest

from tests.raising import raises
from vista_guard.errors import InputError
from vista_lab.logs.formats import BrokenEntry, LoggedConversation, count, named, read_log


def chat(name: str) -> str:
    return json.dumps({"id": name, "messages": [{"role": "assistant", "content": f"I am {name}."}]})


def names(entries: Iterable[LoggedConversation | BrokenEntry]) -> list[str | None]:
    return [entry.conversation.id if isinstance(entry, LoggedConversation) else None for entry in entries]


def test_broken_lines_are_named_by_file_and_line(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"\xef\xbb\xbf{broken\r\n\r\n" + chat("a").encode() + b"\r\n\xff\xfe\n[\n" + chat("b").encode())
    entries = list(read_log(log))
    offset = len(b"\xef\xbb\xbf{broken\r\n\r\n" + chat("a").encode() + b"\r\n")
    assert names(entries) == [None, "a", None, None, "b"]
    assert [entry for entry in entries if isinstance(entry, BrokenEntry)] == [
        BrokenEntry(
            f"{log} line 1",
            "is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
        BrokenEntry(f"{log} line 4", f"byte {offset} (0xff) is not UTF-8"),
        BrokenEntry(f"{log} line 5", "is not JSON: Expecting value: line 2 column 1 (char 2)"),
    ]
    assert count(log) == 5


def test_json_that_is_too_deep_is_a_broken_line(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    lists, mappings = '{"a":' + "[" * 200_000, '{"a":' * 200_000
    log.write_text("\n".join([chat("a"), lists, mappings]), encoding="utf-8")
    assert names(read_log(log)) == ["a", None, None]


def test_repeated_ids_are_made_unique_the_same_way_each_time(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("\n".join(map(chat, ["a", "a", "a#2", "a", "b"])), encoding="utf-8")
    assert names(read_log(log)) == ["a", "a#2", "a#2#2", "a#3", "b"]
    assert names(read_log(log)) == names(read_log(log))


def test_lines_are_streamed(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with log.open("w", encoding="utf-8") as file:
        file.write(chat("a") + "\n")
        entries = read_log(log)
        file.flush()
        assert names(islice(entries, 1)) == ["a"]
        file.write(chat("b") + "\n")
    assert names(entries) == ["b"]


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_an_empty_log(tmp_path: Path, content: bytes) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(content)
    with raises(InputError, log):
        list(read_log(log))


def test_a_log_that_is_no_utf8(tmp_path: Path) -> None:
    listed, wide = tmp_path / "list.json", tmp_path / "wide.jsonl"
    listed.write_bytes(b'[[{"role": "user", "utterance": "caf\xe9"}]]')
    wide.write_text(chat("a"), encoding="utf-16")
    messages = []
    for log in (listed, wide):
        with pytest.raises(InputError) as raised:
            list(read_log(log))
        messages.append(str(raised.value))
    assert messages == [
        f"log {listed}: byte 36 (0xe9) is not UTF-8; save the file as UTF-8",
        f"log {wide}: byte 0 (0xff) starts UTF-16 text; save the file as UTF-8",
    ]


def test_a_list_that_is_cut_off(tmp_path: Path) -> None:
    log = tmp_path / "log.json"
    log.write_text('[[{"role": "user", ', encoding="utf-8")
    with raises(InputError, "log", "log.json", "JSON", "list", "Expecting"):
        list(read_log(log))


def test_an_archive_that_is_cut_off(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl.gz"
    log.write_bytes(gzip.compress("\n".join(map(chat, map(str, range(2000)))).encode())[:-20])
    entries = read_log(log, named("openai"))
    assert names(islice(entries, 3)) == ["0", "1", "2"]
    with pytest.raises(InputError):
        list(entries)


def test_a_log_that_is_no_file(tmp_path: Path) -> None:
    for log in (tmp_path, tmp_path / "missing"):
        with raises(InputError, log):
            list(read_log(log))
