"""`vista-guard reviews`: complaints in, and what people decided out, to calibrate with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.stores.test_reports_contract import report
from vista_guard import _aio
from vista_guard.cli import app
from vista_guard.stores.reports import SqlReports
from vista_guard.stores.reviewed import ConsensusClaim, Op
from vista_guard.stores.reviews.queue import Reviews, ReviewVerdict
from vista_guard.types import ANONYMOUS, Action, Decision, JudgeInfo, Label, TurnReport
from vista_lab.annotate.batches import Batches
from vista_lab.annotate.forms import Answers


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["reviews", *map(str, arguments)])
    return done.exit_code, done.output


def turn(number: int, action: Action = Action.BLOCK, conversation: str | None = "talk", **more: Any) -> TurnReport:
    decision = Decision(action=action, reason="as the test wants it")
    fields: dict[str, Any] = {"attempts": (), "decision": decision, "id": f"{number:032x}", **more}
    return report(conversation, number, **fields)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Five turns: three are blocked, one is let through, one of the blocked was written anew."""
    url = f"sqlite:///{tmp_path / 'reports.sqlite'}"
    again = report("talk", 9, id=f"{9:032x}", decision=Decision(action=Action.BLOCK, reason="r"))
    other = turn(7, judge=JudgeInfo(name="other", version="2"))

    async def write() -> None:
        store = SqlReports(url)
        for one in (turn(1), turn(2, Action.ALLOW), turn(3, conversation=None), again, other):
            await store.write(one)
        await store.aclose()

    _aio.run(write())
    return url


def test_a_complaint(url: str) -> None:
    assert run("complain", f"{2:032x}", "--reason", "It opened in 1912.", "--reports", url) == (
        0,
        "the turn waits for review\n",
    )
    reviews = Reviews(url)
    found = reviews.get(f"{2:032x}")
    assert found is not None
    assert (found.reason, found.open) == ("complaint", True)
    assert [(event.who, event.text) for event in reviews.trail(found.report_id)][-1] == ("user", "It opened in 1912.")
    reviews.close()
    code, said = run("complain", "nobody", "--reason", "x", "--reports", url)
    assert (code, "there is no report 'nobody'" in said) == (2, True)


def test_nothing_was_decided(url: str, tmp_path: Path) -> None:
    code, said = run("export", tmp_path / "r.jsonl", "--labels", tmp_path / "l.jsonl", "--reports", url)
    assert (code, "no reviewed turns" in said) == (2, True)


def test_what_people_decided_is_calibrated_with(url: str, tmp_path: Path) -> None:
    reviews, batches = Reviews(url), Batches(url)
    for number, verdict in (
        (1, ReviewVerdict.OVERTURNED),
        (3, ReviewVerdict.UPHELD),
        (7, ReviewVerdict.UPHELD),
        (9, ReviewVerdict.UPHELD),
    ):
        reviews.decide(f"{number:032x}", "ada", verdict, "looked it up")
    batches.create_of_turns("pilot", [f"{2:032x}"], wanted=1, who="ada")
    (task,) = batches.tasks("pilot", "ben")
    mine = batches.start(task.id, "ben")
    marks = {part.id: {"handling": "confirm", "label": "verifiable"} for part in task.item.parts}
    batches.save(mine, Answers({}, marks), submit=True)
    added = ConsensusClaim(text="It is made of tin.", label=Label.CONTRADICTED, op=Op.ADD)
    kept = ConsensusClaim(text="The pier opened in 1911.", label=Label.VERIFIED, source_claim_id="t2.c1")
    batches.settle(mine.task, [kept, added], who="ada")
    reviews.close()
    batches.close()
    reports, labels, table = (tmp_path / name for name in ("reports.jsonl", "labels.jsonl", "risk.json"))
    code, said = run("export", reports, "--labels", labels, "--reports", url)
    assert (code, said) == (
        0, "wrote 3 turns of scripted 1 and 4 labels\nleft out: 1 written anew\nleft out: 1 of another judge\n"
    )  # fmt: skip
    lines = [json.loads(line) for line in labels.read_text("utf-8").splitlines()]
    assert sorted(lines, key=str) == sorted(
        [
            {"conversation_id": "talk", "turn_index": 1, "fine": True},
            {"conversation_id": "talk", "turn_index": 2, "fine": False},
            {"conversation_id": "talk", "turn_index": 2, "claim_id": "t2.c1", "fine": True},
            {"conversation_id": f"{3:032x}", "turn_index": 3, "fine": False},
        ],
        key=str,
    )
    done = CliRunner().invoke(app, ["calibrate", str(reports), "--labels", str(labels), "--out", str(table)])
    assert (done.exit_code, table.is_file()) == (0, True), done.output


def test_facts_about_the_chat_are_added_listed_and_removed(url: str) -> None:
    fact = "There is a button below the chat."
    code, output = run("facts", "--add", f" {fact}\n", "--tenant", "north", "--who", "ada", "--reports", url)
    assert code == 0
    assert output.splitlines()[-1].split("\t")[:4] == ["1", "north", fact, "ada"]
    assert run("facts", "--tenant", "south", "--reports", url) == (0, "")
    code, output = run("facts", "--remove", 7, "--reports", url)
    assert (code, "7" in output) == (2, True)
    assert run("facts", "--remove", 1, "--reports", url) == (0, "")


def test_a_fact_of_no_tenant_holds_behind_a_proxy_without_keys(url: str) -> None:
    fact = "There is a button below the chat."
    assert "without tenants" in run("facts", "--add", fact, "--reports", url)[1]
    assert "acme" in run("facts", "--add", "There is a form.", "--tenant", "acme", "--reports", url)[1]

    async def known() -> list[list[str]]:
        store = SqlReports(url)
        found = [list(await store.chat_facts(tenant)) for tenant in (None, ANONYMOUS, "acme", "zoo")]
        await store.aclose()
        return found

    assert _aio.run(known()) == [[fact], [fact], ["There is a form."], []]


def test_a_claim_that_became_a_fact_is_exported_as_fine(url: str, tmp_path: Path) -> None:
    blocked = turn(1)
    claim = blocked.findings[0].claim
    queue = Reviews(url)
    queue.add_facts([blocked.id], "ada", {claim.text: claim.text}, verdict=ReviewVerdict.OVERTURNED)
    queue.close()
    labels = tmp_path / "labels.jsonl"
    code, output = run("export", tmp_path / "reports.jsonl", "--labels", labels, "--reports", url)
    assert code == 0, output
    lines = [json.loads(line) for line in labels.read_text("utf-8").splitlines()]
    assert {"claim_id": claim.id, "fine": True} in [
        {key: line[key] for key in ("claim_id", "fine") if key in line} for line in lines
    ]
    assert all(line["fine"] for line in lines)
