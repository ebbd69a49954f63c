"""Logs through the guard: complete, resumable, and never mixed."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.lab.judges import RuleJudge
from tests.raising import raises
from vista_guard.errors import ConfigError, InputError, StoreError
from vista_guard.guard import Guard
from vista_guard.policy.label_policy import LabelPolicy, build_policy
from vista_guard.settings.sources import Limits
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.stores.reports import SqlReports
from vista_guard.testing import WordEmbedder, assistant, conversation, user
from vista_guard.types import Action, Claim, JudgeInfo, Label, Persona, TurnReport
from vista_lab.logs.formats import BrokenEntry, LoggedConversation
from vista_lab.metrics.labels import LabelAgreement
from vista_lab.runs.folder import read_manifest
from vista_lab.runs.loop import ClaimsMode, Event
from vista_lab.runs.replaying import replay

GIVEN, JUDGE = ClaimsMode.GIVEN, ClaimsMode.JUDGE


def logged(name: str, turns: int = 3) -> LoggedConversation:
    """The first turn is verified by its document, the others only by what the first one established."""
    fact = f"Pier {name} is old"
    said = [user("?"), assistant(fact, f"{fact} and long.")]
    for number in range(1, turns):
        said += [user("?"), assistant(f"{fact}. I like pier {name} {number} times")]
    return LoggedConversation(conversation(*said, id=name), {}, line=1)


def guard(judge: RuleJudge | None = None, policy: LabelPolicy | str = "monitor", **more: object) -> Guard:
    return Guard(judge or RuleJudge(), policy, knowledge=MemoryKnowledge(WordEmbedder()), **more)  # type: ignore[arg-type]


def read(out: Path) -> list[TurnReport]:
    return [TurnReport.model_validate_json(line) for line in out.read_bytes().splitlines()]


def turns(out: Path) -> list[tuple[str | None, int]]:
    return [(report.conversation_id, report.turn_index) for report in read(out)]


def labels(out: Path) -> dict[tuple[str | None, int], list[Label]]:
    found = {}
    for report in read(out):
        found[report.conversation_id, report.turn_index] = [finding.label for finding in report.findings]
    return found


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def all_turns(names: Sequence[str], each: int = 3) -> list[tuple[str, int]]:
    return [(name, 2 * number + 1) for name in names for number in range(each)]


NAMES = [f"n{number}" for number in range(8)]
EXPECTED = {
    (name, index): [Label.VERIFIED] if index == 1 else [Label.VERIFIED, Label.OUT_OF_SCOPE]
    for name, index in all_turns(NAMES)
}


async def test_the_database_of_the_guard_keeps_its_reports_of_a_replayed_conversation(tmp_path: Path) -> None:
    reports = SqlReports(f"sqlite:///{tmp_path / 'reports.sqlite'}")
    kept = guard(sinks=(reports,))
    live = await kept.acheck(logged("n0", 1).conversation)
    await replay(kept, [logged("n0")], tmp_path / "reports.jsonl")
    found = await reports.reports("n0")
    assert (found[0], len(found)) == (live, 4)
    assert await kept.parts.knowledge.delivered("n0") == frozenset()
    await kept.aclose()


@pytest.mark.parametrize("concurrency", [1, 3, 20])
async def test_every_turn_is_reported_once_and_in_order(tmp_path: Path, concurrency: int) -> None:
    out = tmp_path / "reports.jsonl"
    summary = await replay(guard(), map(logged, NAMES), out, concurrency=concurrency)
    assert labels(out) == EXPECTED
    assert sorted(turns(out)) == all_turns(NAMES)
    for name in NAMES:
        assert [index for owner, index in turns(out) if owner == name] == [1, 3, 5]
    assert (summary.conversations, summary.turns, summary.resumed, summary.broken) == (8, 24, 0, 0)
    assert (summary.micro, summary.macro, summary.interrupted, summary.agreement) == (1.0, 1.0, False, None)


async def test_a_finished_conversation_leaves_nothing_in_memory(tmp_path: Path) -> None:
    knowledge = MemoryKnowledge(WordEmbedder())
    one = Guard(RuleJudge(), "monitor", knowledge=knowledge)
    await replay(one, [logged("a")], tmp_path / "reports.jsonl")
    assert await knowledge.delivered("a") == frozenset()


async def test_a_stopped_replay_goes_on_where_it_stopped(tmp_path: Path) -> None:
    out = tmp_path / "reports.jsonl"
    judges = []
    for round_number in range(30):
        stop = asyncio.Event()
        judges.append(RuleJudge())
        events: list[Event] = []

        def stop_after_two(event: Event, seen: list[Event] = events, stop: asyncio.Event = stop) -> None:
            seen.append(event)
            if sum(isinstance(one, TurnReport) for one in seen) == 2:
                stop.set()

        summary = await replay(
            guard(judges[-1]), map(logged, NAMES), out, concurrency=2, on_progress=stop_after_two, stop=stop
        )
        assert summary.interrupted is stop.is_set()
        if not stop.is_set():
            break
        # Two workers: at most one more turn was being judged.
        assert len(judges[-1].asked) <= 3, round_number
    assert sorted(turns(out)) == all_turns(NAMES)
    # Knowledge was rebuilt each time: later turns are verified by claims of turns that an earlier run judged.
    assert labels(out) == EXPECTED
    assert sum(len(judge.asked) for judge in judges) == 24
    assert (summary.turns, summary.micro) == (24, 1.0)


async def test_a_finished_replay_has_nothing_to_do(tmp_path: Path) -> None:
    out = tmp_path / "reports.jsonl"
    first = await replay(guard(), map(logged, NAMES), out)
    before = out.read_bytes()
    judge = RuleJudge()
    again = await replay(guard(judge), map(logged, NAMES), out)
    assert (judge.asked, out.read_bytes()) == ([], before)
    assert (again.turns, again.resumed, again.turns_per_second) == (24, 24, None)
    assert (again.labels, again.actions, again.micro) == (first.labels, first.actions, first.micro)


@pytest.mark.parametrize("torn", [b'{"schema_version": "1.0", "conver', b"\x00\x00\x00\n", b"\n"])
async def test_a_torn_last_line_is_dropped(tmp_path: Path, torn: bytes) -> None:
    out = tmp_path / "reports.jsonl"
    await replay(guard(), map(logged, NAMES[:2]), out)
    with out.open("ab") as file:
        file.write(torn)
    await replay(guard(), map(logged, NAMES[:3]), out)
    assert sorted(turns(out)) == all_turns(NAMES[:3])


@pytest.mark.parametrize("cut", [1, 40, 400])
async def test_a_last_report_cut_off_is_judged_again(tmp_path: Path, cut: int) -> None:
    out = tmp_path / "reports.jsonl"
    await replay(guard(), map(logged, NAMES), out)
    out.write_bytes(out.read_bytes()[:-cut])
    judge = RuleJudge()
    await replay(guard(judge), map(logged, NAMES), out)
    assert len(judge.asked) == 1
    assert sorted(turns(out)) == all_turns(NAMES)
    assert labels(out) == EXPECTED


async def test_reports_that_were_taken_out_are_made_again(tmp_path: Path) -> None:
    out = tmp_path / "reports.jsonl"
    await replay(guard(), map(logged, NAMES), out)
    lines = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join(lines[:4] + lines[7:]))
    judge = RuleJudge()
    await replay(guard(judge), map(logged, NAMES), out)
    assert len(judge.asked) == 3
    assert sorted(turns(out)) == all_turns(NAMES)
    assert labels(out) == EXPECTED


async def test_reports_made_in_another_way_are_not_mixed(tmp_path: Path) -> None:
    out = tmp_path / "reports.jsonl"
    log = [logged("a")]
    await replay(guard(), log, out)
    before = out.read_bytes()
    others = {
        "judge rules 1 instead of rules 2": (guard(RuleJudge(info=JudgeInfo(name="rules", version="2"))), JUDGE),
        "policy monitor instead of strict": (guard(policy="strict"), JUDGE),
        "option persona - instead of": (guard(persona=Persona(name="Mira")), JUDGE),
        "context none instead of full": (guard(context="full"), JUDGE),
        "ungrounded judge instead of trust": (guard(ungrounded="trust"), JUDGE),
        "claims judge instead of given": (guard(), GIVEN),
    }
    for difference, (other, claims) in others.items():
        with pytest.raises(ConfigError) as raised:
            await replay(other, log, out, claims=claims)
        assert difference in str(raised.value)
        assert str(raised.value).endswith(". Choose another --out, or run with the same")
    assert out.read_bytes() == before
    assert files(tmp_path) == ["reports.jsonl", "reports.jsonl.answers.jsonl", "reports.jsonl.run.json"]


@pytest.mark.parametrize("content", ['{"messages": []}', '{"messages": []}\n', "My novel"])
async def test_a_file_of_somebody_else_is_not_touched(tmp_path: Path, content: str) -> None:
    out = tmp_path / "novel.txt"
    out.write_text(content, encoding="utf-8")
    with raises(ConfigError, out, "novel.txt.run.json", "--out"):
        await replay(guard(), [logged("a")], out)
    assert out.read_text(encoding="utf-8") == content


async def test_a_broken_line_in_the_middle_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "reports.jsonl"
    await replay(guard(), [logged("a")], out)
    broken = b"garbage\n" + out.read_bytes()
    out.write_bytes(broken)
    with raises(ConfigError, "reports.jsonl", "1"):
        await replay(guard(), [logged("a")], out)
    assert out.read_bytes() == broken


async def test_reports_on_another_log_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "reports.jsonl"
    await replay(guard(), [logged("a")], out)
    changed = conversation(user("?"), assistant("Pier a is new"), id="a")
    for other in (changed, conversation(user("?"), id="a")):
        with raises(ConfigError, out, "1", "log", "--out"):
            await replay(guard(), [LoggedConversation(other, {})], out)


@pytest.mark.parametrize(
    ("policy", "action"),
    [
        (build_policy("strict"), Action.BLOCK),
        (
            build_policy("balanced", {"rules": {"CONTRADICTED": {"action": "REPAIR"}}, "repair": "annotate"}),
            Action.REPAIR,
        ),
    ],
)
async def test_a_withheld_answer_that_was_changed_is_refused(
    tmp_path: Path, policy: LabelPolicy, action: Action
) -> None:
    out = tmp_path / "reports.jsonl"
    log, changed = (
        [LoggedConversation(conversation(user("?"), assistant(f"I like it. {text}"), id="a"), {})]
        for text in ("Pier a is not old", "Pier a is not new")
    )
    await replay(guard(policy=policy), log, out)
    assert [report.decision.action for report in read(out)] == [action]
    assert (await replay(guard(policy=policy), log, out)).resumed == 1
    with raises(ConfigError, out, "1", "log", "--out"):
        await replay(guard(policy=policy), changed, out)
    # A turn that is judged again has the answer that the log has by now.
    out.write_bytes(b"")
    await replay(guard(policy=policy), changed, out)
    assert (await replay(guard(policy=policy), changed, out)).resumed == 1


async def test_a_replay_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "reports.jsonl"
    await replay(guard(), [logged("a")], out)
    (tmp_path / "reports.jsonl.answers.jsonl").unlink()
    summary = await replay(guard(), [logged("a"), logged("b")], out)
    assert (summary.turns, summary.resumed) == (6, 3)


async def test_two_replays_never_write_into_one_file(tmp_path: Path) -> None:
    out = tmp_path / "reports.jsonl"
    over = asyncio.Event()
    slow = asyncio.create_task(replay(guard(RuleJudge(held=over.wait)), map(logged, NAMES[:2]), out))
    await asyncio.sleep(0)  # The first one opens the file before it waits for anything.
    with raises(ConfigError, out, "--out"):
        await replay(guard(), map(logged, NAMES), out)
    over.set()
    await slow
    assert sorted(turns(out)) == all_turns(NAMES[:2])


async def test_out_must_be_a_file_that_can_be_written(tmp_path: Path) -> None:
    messages = []
    for out in (tmp_path, tmp_path / "no" / "reports.jsonl", Path(os.devnull)):
        with pytest.raises(ConfigError) as raised:
            await replay(guard(), [logged("a")], out)
        messages.append(str(raised.value))
    assert messages == [
        f"{tmp_path} is not a regular file. Choose another --out",
        f"{tmp_path / 'no' / 'reports.jsonl'} cannot be written: No such file or directory. Choose another --out",
        f"{os.devnull} is not a regular file. Choose another --out",
    ]


async def test_broken_entries_are_counted_and_the_rest_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "reports.jsonl"
    broken = BrokenEntry("log.jsonl line 2", "is not JSON")
    events: list[Event] = []
    summary = await replay(guard(), [logged("a"), broken, logged("b")], out, on_progress=events.append)
    assert sorted(turns(out)) == all_turns(["a", "b"])
    assert (summary.conversations, summary.broken, summary.turns) == (2, 1, 6)
    assert [event for event in events if isinstance(event, BrokenEntry)] == [broken]
    through = [str(event.conversation.id) for event in events if isinstance(event, LoggedConversation)]
    assert sorted(through) == ["a", "b"]


async def test_a_turn_that_cannot_be_judged_is_reported_as_unchecked(tmp_path: Path) -> None:
    out = tmp_path / "reports.jsonl"
    talk = LoggedConversation(conversation(user("?"), assistant("boom"), assistant("x" * 200), id="a"), {}, 1)
    summary = await replay(guard(limits=Limits(turn_chars=100)), [talk, logged("b")], out)
    assert sorted(turns(out)) == [("a", 1), ("a", 2), *all_turns(["b"])]
    assert [len(report.unchecked) for report in read(out) if report.conversation_id == "a"] == [1, 1]
    assert (summary.unchecked, summary.broken) == (2, 0)


def annotated(name: str) -> LoggedConversation:
    """The middle assistant turn carries no claims, though it would verify "Pier is old"."""
    claims = [
        Claim(id="t4.c1", text="Pier is old"),
        Claim(id="t4.c2", text="I like it"),
        Claim(id="t4.c3", text="boom"),
    ]
    said = conversation(
        assistant("Pier is long", "Pier is long.", claims=[]).model_copy(
            update={"claims": (Claim(id="t0.c1", text="Pier is long"),)}
        ),
        user("?"),
        assistant("Pier is old", "Pier is old."),
        user("?"),
        assistant("Old pier. I like it.").model_copy(update={"claims": tuple(claims)}),
        id=name,
    )
    human = {"t0.c1": Label.VERIFIED, "t4.c1": Label.VERIFIED, "t4.c2": Label.OUT_OF_SCOPE, "t4.c3": Label.ABSTENTION}
    return LoggedConversation(said, human)


async def test_given_claims_are_held_against_human_labels(tmp_path: Path) -> None:
    out = tmp_path / "reports.jsonl"
    judge = RuleJudge()
    summary = await replay(guard(judge), [annotated("a")], out, claims=GIVEN)
    assert judge.asked == []
    # The turn without claims is neither reported nor believed.
    assert labels(out) == {("a", 0): [Label.VERIFIED], ("a", 4): [Label.LACKING_EVIDENCE, Label.OUT_OF_SCOPE]}
    assert summary.agreement == LabelAgreement(
        claims=4, turns=2, supported=2 / 4, labels=2 / 4, macro_f1=(2 / 3 + 1) / 5, turn=1.0
    )
    again = await replay(guard(), [annotated("a")], out, claims=GIVEN)
    assert (again.resumed, again.agreement) == (2, summary.agreement)


async def test_judged_claims_replace_those_of_the_log(tmp_path: Path) -> None:
    out = tmp_path / "reports.jsonl"
    judge = RuleJudge()
    summary = await replay(guard(judge), [annotated("a")], out, claims=JUDGE)
    assert judge.asked == ["Pier is long", "Pier is old", "Old pier. I like it."]
    assert turns(out) == [("a", 0), ("a", 2), ("a", 4)]
    assert summary.agreement is None


async def test_given_claims_must_be_given(tmp_path: Path) -> None:
    with raises(InputError, "claims", "--claims"):
        await replay(guard(), [logged("a")], tmp_path / "reports.jsonl", claims=GIVEN)


async def test_concurrency_must_be_positive(tmp_path: Path) -> None:
    with raises(ConfigError, "concurrency", "0"):
        await replay(guard(), [logged("a")], tmp_path / "reports.jsonl", concurrency=0)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 20 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=20k", "tmpfs", str(folder)]
    try:
        subprocess.run(mounting, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as exc:
        pytest.skip(f"no file system can be mounted here: {exc}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_stops_the_replay_and_keeps_what_was_written(small_disk: Path) -> None:
    out = small_disk / "reports.jsonl"
    with pytest.raises(StoreError) as raised:
        asyncio.run(replay(guard(), map(logged, NAMES), out, concurrency=3))
    safe = len(turns(out))
    assert 0 < safe < 24
    assert out.read_bytes().endswith(b"\n")
    error = str(raised.value)
    assert error.startswith(
        f"{out} cannot be written: No space left on device (the disk of {small_disk} has 0.0 MB left"
    )
    assert f"{safe} reports are safe in it" in error
    assert "--out" in error
    subprocess.run(["mount", "-o", "remount,size=1m", str(small_disk)], check=True)
    summary = asyncio.run(replay(guard(), map(logged, NAMES), out))
    assert (summary.turns, summary.resumed) == (24, safe)
    assert labels(out) == EXPECTED


async def test_the_run_is_described_beside_the_reports(tmp_path: Path) -> None:
    out = tmp_path / "reports.jsonl"
    await replay(guard(), [logged("a")], out)
    manifest = read_manifest(out)
    assert json.loads((tmp_path / "reports.jsonl.run.json").read_text("utf-8")) == json.loads(
        manifest.model_dump_json()
    )
    options = dict(manifest.system.options)
    assert len(options.pop("rules")) == 16
    assert options == {"policy": "monitor", "context": "none", "ungrounded": "judge"}
    assert (manifest.system.name, manifest.system.judge) == ("vista", JudgeInfo(name="rules", version="1"))
    assert (manifest.rows, manifest.claims, manifest.limit) == (None, "judge", None)
