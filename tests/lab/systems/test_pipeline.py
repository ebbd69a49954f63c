"""System `oasis`: Algorithm 1 over the passages that a retriever ranks, on data with documents and on a store."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.raising import raises
from vista_guard import ConfigError, Conversation, Document, Role, Turn
from vista_guard.stores.memory import MemoryDocuments
from vista_guard.testing import WordEmbedder
from vista_lab.logs.source import LoggedConversation
from vista_lab.systems.catalogue import asks_judge, make_system


class FirstLetter:
    """A verifier that entails by passages that begin with E, and contradicts by those with C."""

    name = "letters"

    def __init__(self) -> None:
        self.read: list[str] = []

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        self.read += [evidence for evidence, _ in pairs]
        rows = {"E": (0.8, 0.1, 0.1), "C": (0.1, 0.8, 0.1)}
        return np.array([rows.get(evidence[0], (0.1, 0.1, 0.8)) for evidence, _ in pairs], np.float32)


class Given:
    """One claim: the turn."""

    from vista_guard import JudgeInfo

    info = JudgeInfo(name="given", version="1")

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[object]:
        from vista_guard import Claim

        return [Claim(id=f"t{len(history)}.c1", text=turn.text)]


def entry(*documents: str) -> LoggedConversation:
    found = tuple(Document(id=str(number), text=text) for number, text in enumerate(documents))
    turn = Turn(role=Role.ASSISTANT, text="the hall opened", documents=found)
    return LoggedConversation(Conversation(turns=(turn,), id="talk"), labels={})


async def labels(entry: LoggedConversation, verifier: FirstLetter, **settings: object) -> list[str]:
    given = {"decomposer": Given(), "embedder": WordEmbedder(), "verifier": verifier, **settings}
    system = make_system("oasis", **given)  # type: ignore[arg-type]
    try:
        reports = [report async for report in system.judge(entry, [0], [])]
        return [str(finding.label) for finding in reports[0].findings]
    finally:
        await system.aclose()


async def test_the_nearest_document_that_speaks_of_it_decides() -> None:
    verifier = FirstLetter()
    found = await labels(entry("E ferries and dogs", "N hall", "C the hall opened"), verifier)
    assert (found, verifier.read) == (["CONTRADICTED"], ["C the hall opened"])
    assert await labels(entry("N something"), FirstLetter()) == ["VERIFIED"]


async def test_only_k_passages_are_read() -> None:
    verifier = FirstLetter()
    documents = ["N the hall opened", "N hall opened", "C hall"]
    assert await labels(entry(*documents), verifier, options={"passages": "2"}) == ["VERIFIED"]
    assert len(verifier.read) == 2
    assert await labels(entry(*documents), FirstLetter(), options={"passages": "3"}) == ["CONTRADICTED"]


async def test_turns_without_documents_are_held_against_the_store() -> None:
    store = MemoryDocuments(WordEmbedder())
    await store.add([Document(id="a", text="E ferries"), Document(id="b", text="C the hall opened")])
    assert await labels(entry(), FirstLetter(), documents=store) == ["CONTRADICTED"]


def test_what_changes_a_verdict_is_part_of_how_it_judges() -> None:
    system = make_system("oasis", documents=MemoryDocuments(WordEmbedder()))
    assert system.info.options["passages"] == "30"
    assert system.info.options["limits.retrieved"] == "30"
    how = "retrieved by claim for turns that bring none"
    assert system.info.options["documents"] == f"{how}, by words and meaning"
    assert system.info.judge.version.endswith("; first passage decides")
    assert not asks_judge("oasis")


@pytest.mark.parametrize("given", ["0", "-1", "many", ""])
def test_passages_is_a_number(given: str) -> None:
    with raises(ConfigError, "passages"):
        make_system("oasis", options={"passages": given})
