"""The study of docs/annotating.md, its six commands as the page has them; then the dashboard's way, and wrong input."""

from __future__ import annotations

import json
import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest
from openpyxl import load_workbook
from typer.testing import CliRunner

from tests.lab.annotate.work import fill, mark
from vista_guard.cli import app

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "annotating.md").read_text(encoding="utf-8")
COMMANDS = [block.removeprefix("$ ").rstrip() for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)]
OTHERS = [line for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]

ENRICHED = "Enriched: 1 with ABSTENTION and 1 with CONTRADICTED chosen by the labels of "

SAID = {
    "9 pounds": "contradicted",
    "brothers": "lacking evidence",
    "beautiful": "out of scope",
    "love the view": "out of scope",
    "Christmas": "abstention",
}
"""What people make of claims, by words in them. All others are verifiable."""

ODD = {"ben": {"brothers": "out of scope", "Christmas": "out of scope"}, "cleo": {"Christmas": "lacking evidence"}}
"""Where one of them sees it in another way."""


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    done = CliRunner().invoke(app, list(arguments))
    return done.exit_code, done.stdout, done.stderr


def rows_of(path: Path) -> list[dict[str, str]]:
    sheet = load_workbook(path).worksheets[0]
    head, *rows = ([str(value or "") for value in row] for row in sheet.iter_rows(values_only=True))
    return [dict(zip(head, row, strict=True)) for row in rows]


def annotate(folder: Path) -> None:
    for path in sorted(folder.glob("*.xlsx")):
        said = {**SAID, **ODD.get(path.stem, {})}
        words = {
            (row["id"], row["claim"]): [label for part, label in said.items() if part in row["text"]]
            for row in rows_of(path)
            if row["text"]
        }
        fill(path, {name: {"label": labels[0]} for name, labels in words.items() if labels})


def discuss(path: Path) -> None:
    (row,) = rows_of(path)
    assert "Christmas" in row["answer"]
    mark(path, {(row["id"], ""): {"label": "abstention"}}, {})


def test_the_study_in_six_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(ROOT / "examples" / "study" / "museum.json", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VISTA_GUARD_DATA_DIR", str(tmp_path / "data"))
    assert len(COMMANDS) == 6
    judging, exporting, agreeing, settling, given, measuring = (command.split()[1:] for command in COMMANDS)
    assert run(*judging)[0] == 0
    code, out, err = run(*exporting)
    assert (code, out.splitlines()) == (
        0,
        [f"wrote sheets/{name}" for name in ("HOW-TO.txt", "ada.xlsx", "ben.xlsx", "cleo.xlsx")],
    )
    assert f"5 of 6 conversations of museum.json, by seed 0. {ENRICHED}" in err
    assert ENRICHED in rows_of(Path("sheets/ada.xlsx"))[0]["study"]
    code, _, err = run(*exporting)
    assert (code, "sheets/ada.xlsx exists" in err) == (2, True)

    annotate(Path("sheets"))
    code, out, err = run(*agreeing)
    assert (code, "wrote agreed/discuss.xlsx" in out) == (0, True)
    assert "1 claims have no majority: fill in agreed/discuss.xlsx, and give it with --settled" in err
    discuss(Path("agreed/discuss.xlsx"))
    code, _, err = run(*agreeing)
    assert (code, "agreed/discuss.xlsx has answers" in err) == (2, True)
    code, _, err = run(*settling)
    assert (code, "no majority" in err) == (0, False)
    assert run(*given)[0] == 0
    assert run(*measuring)[0] == 0
    tables = Path("agreed/tables.md").read_text("utf-8")
    assert re.findall(r"^### (\w+ \d)", tables, re.MULTILINE) == ["Table 1", "Table 6", "Table 7", "Figure 2"]
    assert tables.count("Enriched: 1 with ABSTENTION and 1 with CONTRADICTED") == 4
    # Both runs, over the turns that have both golds.
    assert re.findall(r"^\| (\w+) \| VISTA \| embedded-quick \| (\w+) \| 6 \| 100\.0 \|", tables, re.MULTILINE) == [
        ("museum", "judge"),
        ("given", "given"),
    ]

    code, out, _ = run(*measuring, "--json", "--match", "text")
    told = json.loads(out)
    assert (code, told["enriched"], told["to_discuss"], told["jaccard"]) == (0, True, 0, 1.0)
    assert sum(told["labels"].values()) == told["alpha"]["claims"]
    _drawn(*run(*measuring, "--figures", "--format", "md,html"))
    _the_dashboards_way(told)


def _drawn(code: int, out: str, err: str) -> None:
    if find_spec("matplotlib") is None and os.environ.get("VISTA_GUARD_REQUIRE_ALL") != "1":
        assert (code, "drawing figures needs matplotlib" in err) == (2, True)
        return
    assert code == 0, err
    assert "wrote agreed/figures/figure-2-consensus-json.png" in out
    assert "enriched" in Path("agreed/figures/figure-2-museum-json.svg").read_text("utf-8")
    page = Path("agreed/tables.html").read_text("utf-8")
    assert (page.count("data:image/svg+xml;base64,"), "<h1>What annotators say</h1>" in page) == (2, True)


def _the_dashboards_way(told: dict[str, object]) -> None:
    importing, _, agreeing, calibrating = (line.split()[1:] for line in OTHERS)
    sheets = [f"sheets/{name}.xlsx" for name in ("ada", "ben", "cleo")]
    code, _, err = run(*importing[:2], *sheets, *importing[3:])
    assert (code, "as batch pilot" in err) == (0, True)
    # What was discussed stays in its sheet: the dashboard has not settled it.
    code, out, _ = run(*agreeing[:-2], "--json", "--match", "text")
    batch = json.loads(out)
    assert (code, batch["alpha"], batch["to_discuss"]) == (0, told["alpha"], 1)
    code, out, _ = run(
        "agree", "--batch", "pilot", "--reports", "sqlite:///study.sqlite", "--match", "text", "--format", "csv"
    )
    assert (code, "# Table 6" in out, "# Table 7" in out) == (0, True, False)
    code, out, err = run(*calibrating)
    assert (code, Path("risk.json").is_file()) == (0, True), err


def test_what_a_log_s_reader_left_out_is_told(tmp_path: Path) -> None:
    log, sheets = tmp_path / "log.jsonl", tmp_path / "sheets"
    seen = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": "https://example.org/m.png"}},
    ]
    shown = {"id": "a", "messages": [{"role": "user", "content": seen}, {"role": "assistant", "content": "A mill."}]}
    log.write_text(json.dumps(shown) + "\n{cut off\n", encoding="utf-8")
    assert run("eval", str(log), "--system", "overlap", "--out", str(tmp_path / "run"))[0] == 2  # a line is unreadable
    asked = ("annotations", "export", str(log), "--run", str(tmp_path / "run"), "--annotators", "ada")
    code, _, err = run(*asked, "--sheets", "tsv", "--out", str(sheets))
    assert code == 0
    assert f"{log} line 2: is not JSON" in err
    assert "'image_url', keys image_url: conversation a (line 1), message 0" in err


def test_runs_over_a_log_without_labels_are_compared_with_people_alone(tmp_path: Path) -> None:
    log, sheets, judged = tmp_path / "log.jsonl", tmp_path / "sheets", str(tmp_path / "run")
    asked = {"role": "user", "content": "When?"}
    answers = [
        {"role": "assistant", "content": said, "documents": ["It opens at nine."]} for said in ("At nine.", "Late.")
    ]
    talks = [{"id": f"c{number}", "messages": [asked, answer]} for number, answer in enumerate(answers)]
    log.write_text("".join(json.dumps(talk) + "\n" for talk in talks), encoding="utf-8")
    assert run("eval", str(log), "--system", "overlap", "--out", judged)[0] == 0
    exported = run("annotations", "export", str(log), "--run", judged, "--annotators", "ada,ben", "--out", str(sheets))
    assert exported[0] == 0
    for name in ("ada", "ben"):
        path = sheets / f"{name}.xlsx"
        fill(
            path, {(row["id"], row["claim"]): {"label": "verifiable"} for row in rows_of(path) if "nine" in row["text"]}
        )
    measuring = ["agree", *map(str, sorted(sheets.glob("*.xlsx"))), "--match", "text", "--run", judged]
    code, out, err = run(*measuring)
    assert (code, "| – | 50.00 [" in out.replace("\\", "")) == (0, True), err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["annotations", "export", "{log}", "--annotators", "ada", "--out", "x"],
            "has no turn with claims of its own; judge it first",
        ),
        (
            ["annotations", "export", "{log}", "--annotators", "ada", "--out", "x", "--sample", "some"],
            "--sample is 'some'; give a number",
        ),
        (
            ["annotations", "export", "{log}", "--annotators", "ada", "--out", "x", "--enrich", "joy=1"],
            "--enrich has 'joy=1'",
        ),
        (["annotations", "export", "none.json", "--annotators", "ada", "--out", "x"], "log none.json does not exist"),
        (
            ["annotations", "export", "{log}", "--annotators", "ada", "--out", "x", "--run", "gone"],
            "gone cannot be read",
        ),
        (["annotations", "import", "ada.tsv", "--batch", "b"], "study.json cannot be read"),
        (["agree"], "filled sheets or --batch NAME"),
        (["agree", "ada.tsv", "--batch", "b"], "filled sheets or --batch NAME"),
        (["agree", "ada.tsv"], "ada.tsv is a single annotator's sheet"),
        (["agree", "ada.tsv", "ben.tsv"], "study.json cannot be read"),
        (["agree", "ada.tsv", "ben.tsv", "--figures", "--out", "x"], "--figures draws Figure 2 from runs"),
        (["agree", "ada.tsv", "--format", "md,csv"], "2 formats cannot go to stdout"),
        (["agree", "--batch", "b", "--reports", "sqlite:///{tmp}/none.sqlite"], "none.sqlite"),
    ],
)
def test_wrong_input_is_an_error_that_says_why(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = ROOT / "examples" / "study" / "museum.json"
    code, out, err = run(*(one.replace("{log}", str(log)).replace("{tmp}", str(tmp_path)) for one in arguments))
    assert (code in (1, 2), out) == (True, ""), err
    assert said in err
    assert not (tmp_path / "x").exists()
