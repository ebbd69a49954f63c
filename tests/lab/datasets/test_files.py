"""Publishers' files that are not as they should be: an error, or a row that is named and counted."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest

from tests.lab.datasets import rows
from vista_guard.errors import InputError
from vista_lab.datasets.files import Row, fingerprint, json_object, json_rows, table_rows, whole
from vista_lab.datasets.registry import find
from vista_lab.datasets.sets import begin
from vista_lab.logs.formats import BrokenEntry


def found(path: Path) -> list[str | BrokenEntry]:
    """The first cell of each row, or why it is none."""
    every = table_rows(path, ("a", "b"))
    return [row if isinstance(row, BrokenEntry) else str(row.content["a"]) for row in every]


def test_rows_of_a_table_that_are_none_are_named_and_the_others_read(tmp_path: Path) -> None:
    file = rows.write(tmp_path / "t.csv", b'\xef\xbb\xbf a ,b\n1,x\n\n2\n"3\n3",caf\xe9\n"4",y\n"5"5,z\n6,"open')
    assert found(file) == [
        "1",
        BrokenEntry(f"{file} row 2", "has 1 cells, and the header has 2"),
        BrokenEntry(f"{file} row 3", "column 'b': byte 0xe9 at position 3 is not UTF-8"),
        "4",
        BrokenEntry(f"{file} row 5", "is not a row of a table: ',' expected after '\"'"),
        BrokenEntry(
            f"{file} row 6",
            "is not a row of a table: a quote is opened here or below and never closed, nothing behind it is read",
        ),
    ]


def test_a_long_cell_is_read(tmp_path: Path) -> None:
    assert found(rows.write(tmp_path / "t.csv.gz", f"a,b\n{'x' * 200_000},y\n")) == ["x" * 200_000]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", "is empty; expected a table with the columns a, b"),
        (b"a,c\n1,2\n", "has no column b; its columns are a, c"),
        (gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:30], "is a damaged or cut-off gzip archive"),
    ],
)
def test_a_file_that_is_no_table(tmp_path: Path, content: bytes, error: str) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(content)
    with pytest.raises(InputError, match=f"t.csv {error}"):
        found(file)


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"t.csv cannot be read"):
        found(tmp_path / "t.csv")


def test_lines_that_are_no_rows_are_named_and_the_others_read(tmp_path: Path) -> None:
    good = json.dumps(rows.HALUEVAL)
    broken = (
        '{"knowledge": "cut off',
        "[1]",
        '{"knowledge": "x"}',
        json.dumps({**rows.HALUEVAL, "knowledge": 3}),
        json.dumps({**rows.HALUEVAL, "right_response": " "}),
        json.dumps({**rows.HALUEVAL, "knowledge": "a \x00 b"}),
    )
    content = "\n".join((good, *broken, good)).encode() + b'\n{"knowledge": "caf\xe9"}\n'
    file = rows.write(tmp_path / "d.json", content)
    entries = list(find("halueval-dialogue").read([file]))
    assert [(one.source, one.error) for one in entries if isinstance(one, BrokenEntry)] == [
        (f"{file} line 2", "is not JSON: Invalid control character at: line 1 column 23 (char 22)"),
        (f"{file} line 3", "is '[1]'; expected a mapping"),
        (f"{file} line 4", "has no dialogue_history; its fields are knowledge"),
        (f"{file} line 5", "knowledge is '3'; expected a text"),
        (f"{file} line 6", "right_response is blank"),
        (f"{file} line 7", "turn 3: document 'e1' has a NUL character at position 2; remove it"),
        (f"{file} line 9", f"byte {len(content) - 4} (0xe9) is not UTF-8"),
    ]
    assert len(entries) == 7 + 4


def test_a_list_that_is_cut_off_is_an_error(tmp_path: Path) -> None:
    file = rows.write(tmp_path / "d.json", "[{},")
    with pytest.raises(InputError, match=r"d.json starts like a JSON list but is not JSON"):
        list(json_rows(file))


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"[]", "is '\\[\\]'; expected one mapping"),
        (b'{"a": ', "is not JSON: "),
        (b'{"a": "\xff"}', "byte 7 \\(0xff\\) is not UTF-8"),
    ],
)
def test_a_file_that_is_no_mapping(tmp_path: Path, content: bytes, error: str) -> None:
    with pytest.raises(InputError, match=error):
        json_object(rows.write(tmp_path / "m.json", content))


def test_fields_say_what_they_should_be() -> None:
    row = Row({"n": "x", "t": ["a", 1], "p": [3], "l": "c", "f": 1.0}, Path("f.jsonl"), "line 4", 4)
    tries = {
        "n is 'x'; expected a whole number": lambda: row.number_of("n"),
        "f is '1.0'; expected a whole number": lambda: row.number_of("f"),
        "t is \"['a', 1]\"; expected a list of texts": lambda: row.texts("t"),
        "p 1 is '3'; expected a mapping": lambda: row.parts("p"),
        "l is 'c'; the labels are a, b": lambda: row.label("l", {"a": 1, "b": 2}),
        "has no z; its fields are n, t, p, l, f": lambda: row.value("z"),
    }
    for error, ask in tries.items():
        with pytest.raises(InputError) as raised:
            ask()  # type: ignore[no-untyped-call]
        assert str(raised.value) == error
    assert (row.name("z", "n"), row.name("z")) == ("x", "4")


def test_whole_takes_nothing_less(tmp_path: Path) -> None:
    file = rows.tsv(tmp_path / "b.tsv", rows.BEGIN_HEADER, [*rows.BEGIN, ("t5", "wow", "K.", "Hi", "R.", "Partly")])
    with pytest.raises(InputError, match=r"b.tsv row 4: begin_label is 'Partly'"):
        list(whole(begin.read([file])))


def test_a_file_and_its_archive_have_one_fingerprint(tmp_path: Path) -> None:
    plain, zipped = rows.write(tmp_path / "a", "text"), rows.write(tmp_path / "a.gz", "text")
    assert fingerprint(plain) == fingerprint(zipped)
    assert fingerprint(plain) == "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"


def test_quotes_hold_no_cell_together_where_they_are_characters(tmp_path: Path) -> None:
    file = rows.write(tmp_path / "t.tsv", 'a\tb\n"1\tx"\n')
    (row,) = table_rows(file, ("a", "b"), "\t", csv.QUOTE_NONE)
    assert isinstance(row, Row)
    assert (row.content, row.line) == ({"a": '"1', "b": 'x"'}, 2)
