"""Settings become objects: stores where they are told to be, and nothing sent anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from tests.conftest import GUIDE
from tests.raising import raises
from vista_guard import Action, ConfigError, Guard, StoreError
from vista_guard.policy.label_policy import LabelPolicy, build_policy
from vista_guard.stores.chroma.knowledge import ChromaKnowledge
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.stores.qdrant import QdrantDocuments, QdrantKnowledge
from vista_guard.stores.reports import SqlReports
from vista_guard.testing import ScriptedJudge, Verdict, assistant, conversation, user
from vista_guard.types import Document, Label

SAID = "The hall opened in 1925."


def scripted() -> ScriptedJudge:
    return ScriptedJudge({SAID: [Verdict(SAID, needs="1925")]})


def test_knowledge_and_reports_are_kept_in_the_data_folder(tmp_path: Path) -> None:
    talk = conversation(user("When?"), assistant(SAID, "The hall opened in 1925."), id="c")
    with Guard.from_settings(judge=scripted(), persona=GUIDE, data_dir=tmp_path, reports="sqlite") as guard:
        assert isinstance(guard.parts.knowledge, ChromaKnowledge)
        report = guard.check(talk)
    assert names_in(tmp_path) == ["chroma", "reports.sqlite"]
    with Guard.from_settings(judge=scripted(), persona=GUIDE, data_dir=tmp_path, reports="sqlite") as again:
        (sink,) = again.parts.sinks
        assert isinstance(sink, SqlReports)
        later = again.check(conversation(*talk.turns, user("Sure?"), assistant(SAID), id="c"))
    assert (report.decision.action, later.decision.action) == (Action.ALLOW, Action.ALLOW)
    # The second turn brought no documents: it leans on what the first one established, in another process.
    assert [(evidence.source, evidence.quote) for evidence in later.findings[0].evidence] == [("knowledge", SAID)]


def test_a_guard_that_keeps_no_reports_may_stand_beside_settings_that_keep_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vista-guard.toml").write_text('reports = "sqlite"\nrecord = "full"\n', encoding="utf-8")
    with Guard.from_settings(judge=scripted(), store="memory", reports=None) as guard:
        assert guard.parts.sinks == ()
    with raises(ConfigError, "record", "full"):
        Guard.from_settings(judge=scripted(), store="memory", reports=None, record="full")


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_qdrant_keeps_documents_and_knowledge_in_the_data_folder(tmp_path: Path) -> None:
    for _ in range(2):
        guard = Guard.from_settings(judge=scripted(), store="qdrant", data_dir=tmp_path)
        assert isinstance(guard.parts.knowledge, QdrantKnowledge)
        assert isinstance(guard.parts.documents, QdrantDocuments)
        await guard.parts.documents.add([Document(id="hall", text=SAID)])
        (report,) = [await guard.acheck(conversation(user("When?"), assistant(SAID), id="c"))]
        assert report.findings[0].label is Label.VERIFIED
        assert len(await guard.parts.knowledge.delivered("c")) == 1
        await guard.aclose()
    assert names_in(tmp_path) == ["qdrant"]


def test_postgres_needs_its_address() -> None:
    with raises(ConfigError, "store_url", "set"):
        Guard.from_settings(judge=scripted(), store="pgvector")


@pytest.mark.parametrize("given", ["u:se%zzcret@localhost/db", "u:secret@[::1]x/db"])
def test_a_broken_address_of_postgres_is_not_quoted_with_its_password(given: str) -> None:
    with raises(StoreError, "store_url") as caught:
        Guard.from_settings(judge=scripted(), store="pgvector", store_url=f"postgresql://{given}")
    assert "cret" not in "".join(traceback.format_exception(caught.value))


def test_memory_touches_no_disk() -> None:
    with Guard.from_settings(judge=scripted(), store="memory") as guard:
        assert isinstance(guard.parts.knowledge, MemoryKnowledge)
    assert list(Path(os.environ["VISTA_GUARD_DATA_DIR"]).iterdir()) == []


def test_the_judge_that_ships_writes_nothing_into_the_users_folders(tmp_path: Path) -> None:
    # onnxruntime would keep an id of the machine and a queue of what it sends to its makers.
    program = """
from vista_guard import Guard
from vista_guard.testing import assistant, conversation
with Guard.from_settings(store="memory") as guard:
    print(guard.check(conversation(assistant("The hall opened in 1925."))).judge.name)
"""
    inherited = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    homes = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")}
    environment = {**inherited, **homes, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr, list(tmp_path.iterdir())) == ("embedded\n", "", [])


@pytest.mark.parametrize("wanted", [False, True])
def test_chromas_telemetry_is_off_unless_asked_for(wanted: bool, tmp_path: Path) -> None:
    from vista_guard.stores.chroma.worker import Engine

    engine = Engine(tmp_path / "engine", telemetry=wanted)
    assert engine.client.get_settings().anonymized_telemetry is wanted
    engine.close()


def test_overrides_reach_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISTA_GUARD_POLICY_OVERRIDES", '{"on_unchecked": "BLOCK"}')
    with Guard.from_settings(judge=ScriptedJudge({}), store="memory") as guard:
        assert guard.check(conversation(assistant("unscripted"))).blocked


@pytest.mark.parametrize("listed", ['["a.example", "*.b.example"]', "a.example"])
def test_overrides_may_be_lists_in_the_environment(listed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISTA_GUARD_POLICY_OVERRIDES__LINK_HOSTS", listed)
    monkeypatch.setenv("VISTA_GUARD_POLICY_OVERRIDES__MESSAGE", "[no answer]")
    with Guard.from_settings(judge=ScriptedJudge({}), store="memory") as guard:
        policy = guard.parts.policy
    assert isinstance(policy, LabelPolicy)
    assert (policy.link_hosts[0], policy.message) == ("a.example", "[no answer]")


def test_overrides_go_over_a_policy_file(tmp_path: Path) -> None:
    file = tmp_path / "careful.toml"
    file.write_text(
        'policy_overrides = {on_unchecked = "ALLOW", on_no_evidence = "BLOCK", rules = {CONTRADICTED = {action = "FLAG"}}}'
    )
    rules = {"LACKING_EVIDENCE": {"action": "BLOCK"}}
    overrides = {"on_unchecked": "BLOCK", "rules": rules}
    policy = Guard.from_settings(policy=str(file), policy_overrides=overrides, store="memory").parts.policy
    assert isinstance(policy, LabelPolicy)
    assert (policy.on_unchecked, policy.on_no_evidence) == (Action.BLOCK, Action.BLOCK)
    assert [policy.rules[label].action for label in (Label.CONTRADICTED, Label.LACKING_EVIDENCE)] == [
        Action.FLAG,
        Action.BLOCK,
    ]


def test_overrides_beside_a_policy_object_are_refused() -> None:
    with raises(ConfigError, "policy", "policy_overrides", "given"):
        Guard.from_settings(policy=build_policy("strict"), policy_overrides={"on_unchecked": "BLOCK"}, store="memory")


def test_what_is_no_policy_is_refused_at_once() -> None:
    with raises(ConfigError, "policy", "5"):
        Guard(ScriptedJudge({}), 5)  # type: ignore[arg-type]


def test_a_judge_s_name_is_told_where_to_go() -> None:
    with raises(ConfigError, "judge", "embedded-quick", "from_settings"):
        Guard("embedded-quick")  # type: ignore[arg-type]
    with raises(ConfigError, "judge", "None", "give a judge"):
        Guard(None)  # type: ignore[arg-type]


def test_a_policy_says_whether_it_withholds_and_repairs() -> None:
    with raises(ConfigError, "withholds"):
        Guard(ScriptedJudge({}), lambda outcomes, *, evidence_missing: None)  # type: ignore[arg-type]


def test_missing_weights_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from vista_guard.judges.embedded import EmbeddedJudge
    from vista_guard.testing import WordEmbedder

    with raises(ConfigError, "judge.json"):
        EmbeddedJudge.load(WordEmbedder(), folder=tmp_path)


@pytest.mark.parametrize("name", [None, "shipped"])
def test_the_embedded_judge_keeps_its_risk_table_with_its_own_claims(name: str | None) -> None:
    with Guard.from_settings(store="memory", decomposer=name) as guard:
        assert guard.parts.turn_risk is not None


CHANNEL = (
    "There is a button below the chat to make an appointment.",
    "There is a form in which visitors leave their number, and we call back.",
    "The address is at the bottom of the page.",
    "A colleague answers by e-mail within two days.",
    "You can upload a picture of your receipt with the paper clip.",
    "Prices may change.",
    "The opening hours are in the menu at the top.",
)


@pytest.mark.parametrize(
    "said",
    [
        "You can make an appointment with the button below.",
        "Leave your number in the form.",
        "The address is at the bottom of this page.",
        "One of my colleagues will reply by e-mail in two days.",
        "You can upload a photo of the receipt with the paper clip.",
        "Note: prices may change.",
        "You will find our opening hours in the menu at the top.",
    ],
)
def test_what_is_said_of_the_chat_itself_passes_where_the_settings_say_it(said: str) -> None:
    documents = ["Our clinic is open on weekdays from 8 to 17. A first visit costs 40 euros."]
    actions = []
    for channel in ((), CHANNEL):
        with Guard.from_settings(store="memory", policy="strict", retrieve=False, channel=channel) as guard:
            actions.append(guard.check_answer(said, documents=documents).decision.action)
    assert actions == [Action.BLOCK, Action.ALLOW]


def test_the_chat_comes_beside_the_persona_and_no_lie_about_it_passes() -> None:
    with Guard.from_settings(store="memory", policy="strict", persona=GUIDE, channel=CHANNEL) as guard:
        assert guard.parts.persona is not None
        assert (guard.parts.persona.facts, guard.parts.persona.channel) == (GUIDE.facts, CHANNEL)
        assert guard.check_answer("The address is at the top of this page.").decision.action is Action.BLOCK
        assert guard.check_answer("You can pay with the button below.").decision.action is Action.BLOCK


def test_one_sentence_in_place_of_a_list_is_refused_with_the_list_to_give() -> None:
    with raises(ConfigError, "channel", "Prices may change."):
        Guard.from_settings(store="memory", channel="Prices may change.")
