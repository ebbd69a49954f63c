"""Evidence by claim: every source, what is recorded and replayed, and what a source that fails or finds nothing leaves behind."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from tests.lab.systems.rows import run, verdicts
from tests.raising import raises
from vista_guard import Check, Claim, ConfigError, Document, EvidenceSet, Finding, JudgeInfo, Label, Turn, TurnReport
from vista_guard.stores.chroma.client import chroma_client
from vista_guard.stores.chroma.documents import ChromaDocuments
from vista_guard.stores.memory import MemoryDocuments
from vista_guard.testing import WordEmbedder, assistant, conversation, user
from vista_lab.evaluate.estimating import estimate
from vista_lab.logs.source import LoggedConversation
from vista_lab.systems.catalogue import make_system
from vista_lab.systems.evidence import SEPARATOR, EvidenceOrder, FoundEvidence
from vista_lab.systems.guarded import GuardSystem

SAID = "The mill grinds oats. The mill has nine sails. The baker sings."


class Literal:
    """A judge that supports what a passage says to the letter, and remembers what it read for each claim."""

    info = JudgeInfo(name="literal", version="1")

    def __init__(self) -> None:
        self.read: dict[str, list[str]] = {}

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        return [
            Claim(id=f"t{len(history)}.c{n}", text=one.strip(" .")) for n, one in enumerate(turn.text.split(". "), 1)
        ]

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check]:
        texts = [passage.text for passage in evidence.documents]
        self.read |= {claim.text: texts for claim in claims}
        return [Check(claim=one, supported=any(one.text in text for text in texts), confidence=1.0) for one in claims]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding]:
        texts = " | ".join(passage.text for passage in evidence.documents)
        return [Finding(claim=one.claim, label=Label.LACKING_EVIDENCE, confidence=1.0, reason=texts) for one in checks]


def talk(*documents: str, topic: str = "", said: str = SAID) -> LoggedConversation:
    turns = (user("Tell me about the mill."), assistant(said, *documents))
    return LoggedConversation(conversation(*turns, id="talk"), {}, topic=topic)


def made(order: EvidenceOrder | str, judge: Literal | None = None, **settings: object) -> GuardSystem:
    evidence = EvidenceOrder.parse(order) if isinstance(order, str) else order
    given = {"judge": judge or Literal(), "embedder": WordEmbedder(), "evidence": evidence, **settings}
    return make_system("vista", **given)  # type: ignore[arg-type]


def judged(system: GuardSystem, entry: LoggedConversation, turns: Collection[int] = (1,)) -> TurnReport:
    return run(system, [entry], turns=turns)[0]


def labels(report: TurnReport) -> list[str]:
    """A label a claim, or why it is unchecked."""
    return [str(one.label) if isinstance(one, Finding) else one.error for one in report.outcomes]


def dump(path: Path, pages: dict[str, str]) -> Path:
    """A dump of Wikipedia as FActScore gives it."""
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE documents (title PRIMARY KEY, text)")
        database.executemany("INSERT INTO documents VALUES (?, ?)", pages.items())
    database.close()
    return path


def module(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> str:
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    return name


def test_given_is_the_nearest_of_the_row_s_own_documents_for_each_claim() -> None:
    judge = Literal()
    documents = ("The mill grinds oats", "The baker sings and whistles", "The ferry is blue")
    report = judged(made(EvidenceOrder("given", k=1), judge), talk(*documents))
    assert labels(report) == ["VERIFIED", "LACKING_EVIDENCE", "VERIFIED"]
    assert judge.read["The mill grinds oats"] == ["The mill grinds oats"]
    assert judge.read["The baker sings"] == ["The baker sings and whistles"]


def test_a_row_without_documents_is_told_for_each_claim() -> None:
    report = judged(made("given"), talk())
    assert labels(report) == ["LACKING_EVIDENCE"] * 3
    assert len(report.warnings) == 3
    assert "nothing was found for the claim 'The baker sings'" in report.warnings[2]


def test_wiki_reads_the_topic_s_page_and_no_other(tmp_path: Path) -> None:
    page = SEPARATOR.join(["<s>The mill grinds oats.</s><s>It is old.</s>", "<s>The baker sings</s>", "<s>Nothing</s>"])
    file = dump(tmp_path / "wiki.db", {"Mill": page, "The mill": "The mill has nine sails"})
    judge = Literal()
    system = made(EvidenceOrder("wiki", str(file), k=1), judge)
    assert labels(judged(system, talk(topic="Mill"))) == ["VERIFIED", "LACKING_EVIDENCE", "VERIFIED"]
    assert judge.read["The mill grinds oats"] == ["The mill grinds oats. It is old."]
    assert system.info.evidence is not None
    assert (system.info.evidence.kind, system.info.evidence.source, system.info.evidence.k) == ("wiki", "wiki.db", 1)
    assert system.evidence is not None
    assert system.evidence.without_page(["Mill", "mill", "The Mill", "mill"]) == ["mill", "The Mill"]


@pytest.mark.parametrize(
    ("topic", "named"),
    [("mill", "the topic 'mill' has no page in wiki.db"), ("", "conversation talk names no topic")],
)
def test_a_topic_without_a_page_is_named_and_its_claims_are_unchecked(tmp_path: Path, topic: str, named: str) -> None:
    file = dump(tmp_path / "wiki.db", {"Mill": "The mill grinds oats."})
    report = judged(made(f"wiki:{file}"), talk(topic=topic))
    assert len(report.unchecked) == 3
    assert all(one.error.startswith(named) for one in report.unchecked)


def test_a_dump_that_is_none_is_refused(tmp_path: Path) -> None:
    text, other = tmp_path / "wiki.txt", tmp_path / "other.db"
    text.write_text("Mill\tThe mill grinds oats.\n" * 99, encoding="utf-8")
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE pages (title, text)")
    database.close()
    for file in (text, other, tmp_path / "no.db"):
        with raises(ConfigError, file):
            made(f"wiki:{file}")


SEARCHES = """
asked = []

def find(claim):
    asked.append(claim)
    if "sails" in claim:
        raise OSError("the engine is down")
    return ["", "The mill grinds oats daily", {"text": "The baker sings", "title": "Bakers", "url": "http://b"}] * 9

async def later(claim):
    return [claim] if "mill" in claim else []

def number(claim):
    return 7

words = ["a list"]
"""


def test_a_search_that_fails_leaves_that_claim_unchecked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = module(tmp_path, "engine_a", SEARCHES, monkeypatch)
    judge = Literal()
    report = judged(made(f"search:{name}:find", judge), talk())
    assert labels(report) == ["VERIFIED", "search engine_a:find failed: OSError: the engine is down", "VERIFIED"]
    assert judge.read["The baker sings"] == ["The mill grinds oats daily", "The baker sings"] * 5
    quiet = judged(made(f"search:{name}:later"), talk()).warnings
    assert quiet == ("search evidence: nothing was found for the claim 'The baker sings'",)


def test_what_is_no_search_function_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = module(tmp_path, "engine_b", SEARCHES, monkeypatch)
    for source in ("no_such_engine:find", f"{name}:nothing", f"{name}:words"):
        with raises(ConfigError, "search", source):
            made(f"search:{source}")
    report = judged(made(f"search:{name}:number"), talk())
    assert [one.error.partition(" for")[0] for one in report.unchecked] == ["search engine_b:number gave '7'"] * 3


async def test_a_corpus_is_asked_with_each_claim(tmp_path: Path) -> None:
    store = ChromaDocuments(chroma_client(tmp_path / "chroma"), WordEmbedder(4096))
    await store.add([Document(id="mill", text="The mill grinds oats"), Document(id="baker", text="The baker sings")])
    judge = Literal()
    system = made(EvidenceOrder("corpus", k=1), judge, documents=store)
    first = system.info.evidence
    reports = [report async for report in system.judge(talk("The mill has nine sails"), [1], [])]
    assert labels(reports[0]) == ["VERIFIED", "LACKING_EVIDENCE", "VERIFIED"]
    assert judge.read["The baker sings"] == ["The baker sings"]
    await store.add([Document(id="baker", text="The baker hums")])
    second = made(EvidenceOrder("corpus", k=1), documents=store).info.evidence
    assert first is not None
    assert second is not None
    assert first.source == second.source == "2 documents"
    assert first.fingerprint != second.fingerprint
    assert not first.same_as(second)
    await system.aclose()
    with pytest.raises(ConfigError):
        made("corpus")


def test_everything_found_is_recorded_and_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = module(tmp_path, "engine_c", SEARCHES, monkeypatch)
    file = tmp_path / "evidence.jsonl"
    order = EvidenceOrder.parse(f"search:{name}:find", record=file)
    live = made(order)
    entry = talk(said="The mill grinds oats. The baker sings.")
    whole = judged(live, entry)
    lines = [FoundEvidence.model_validate_json(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [(line.conversation_id, line.turn_index, line.claim) for line in lines] == [
        ("talk", 1, "The mill grinds oats"),
        ("talk", 1, "The baker sings"),
    ]
    replayed = made(EvidenceOrder("recorded", str(file), recorded=live.info.evidence))
    assert live.info.evidence is not None
    assert live.info.evidence.same_as(replayed.info.evidence)
    assert replayed.info != live.info
    assert verdicts([judged(replayed, entry)]) == verdicts([whole])
    other = judged(made(EvidenceOrder("recorded", str(file), recorded=live.info.evidence)), talk())
    assert len(other.unchecked) == 1
    assert "has no evidence of the claim 'The mill has nine sails'" in other.unchecked[0].error


def test_a_resumed_run_looks_nothing_up_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = module(tmp_path, "engine_d", SEARCHES, monkeypatch)
    order = EvidenceOrder.parse(f"search:{name}:find", record=tmp_path / "evidence.jsonl")
    judged(made(order), talk())
    import engine_d  # type: ignore[import-not-found]

    assert engine_d.asked == ["The mill grinds oats", "The mill has nine sails", "The baker sings"]
    judged(made(order), talk())
    assert engine_d.asked[3:] == ["The mill has nine sails"], "only what failed is asked about again"


def test_an_order_is_read_strictly() -> None:
    assert EvidenceOrder.parse("search:engine:find") == EvidenceOrder("search", "engine:find", 10)
    assert EvidenceOrder.parse("given", 3) == EvidenceOrder("given", "", 3)
    for text in ("google", "wiki", "given:x", "recorded:", ""):
        with raises(ConfigError, "--evidence", text):
            EvidenceOrder.parse(text)


@pytest.mark.parametrize("name", ["llm-judge", "majority"])
def test_systems_that_check_no_claims_take_none(name: str) -> None:
    options = {"label": "VERIFIED"} if name == "majority" else None
    with raises(ConfigError, "system", name, "claims"):
        make_system(name, judge="openai:m@http://127.0.0.1:9/v1", options=options, evidence=EvidenceOrder("given"))


async def test_a_corpus_that_lists_nothing_is_told_by_its_size() -> None:
    system = made("corpus", documents=MemoryDocuments(WordEmbedder()))
    assert system.info.evidence is not None
    assert system.info.evidence.source == "0 documents"
    await system.aclose()


async def test_an_estimate_asks_no_search_engine_and_records_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = module(tmp_path, "engine_e", SEARCHES, monkeypatch)
    order = EvidenceOrder.parse(f"search:{name}:find", record=tmp_path / "evidence.jsonl")
    system = make_system("vista", judge="openai:m@http://127.0.0.1:9/v1", embedder=WordEmbedder(), evidence=order)
    found = await estimate(system, [talk()])
    await system.aclose()
    import engine_e  # type: ignore[import-not-found]

    assert found is not None
    assert found.calls == 2, "its claims, then the verdicts on the passages that stand for results"
    assert found.input_tokens > 10 * 100
    assert engine_e.asked == []
    assert not (tmp_path / "evidence.jsonl").exists()
