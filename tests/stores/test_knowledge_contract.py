"""What every knowledge store promises, wherever it lives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
import pytest_asyncio

from tests.stores.conftest import ALL_PLACES
from vista_guard.protocols import KnowledgeStore
from vista_guard.stores.chroma.client import chroma_client
from vista_guard.stores.chroma.knowledge import ChromaKnowledge
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.stores.pgvector import PgvectorKnowledge, Postgres
from vista_guard.stores.qdrant import Qdrant, QdrantKnowledge
from vista_guard.testing import WordEmbedder
from vista_guard.types import Claim, Passage, Persona, SourceKind

MIRA = Persona(name="Mira", facts=("Mira works at the tide museum.", "Mira is a guide."))
TOM = Persona(name="Tom", facts=("Tom sells boats.",))


@pytest_asyncio.fixture(params=ALL_PLACES)
async def store(request: pytest.FixtureRequest) -> AsyncIterator[KnowledgeStore]:
    store = open_store(request.param, request)
    yield store
    await store.aclose()


def open_store(place: str, request: pytest.FixtureRequest) -> KnowledgeStore:
    if place == "memory":
        return MemoryKnowledge(WordEmbedder())
    if place == "pgvector":
        return PgvectorKnowledge(Postgres(request.getfixturevalue("pgvector")), WordEmbedder())
    if place == "qdrant":
        return QdrantKnowledge(Qdrant(request.getfixturevalue("tmp_path") / "qdrant"), WordEmbedder())
    location: Callable[[str], str] = request.getfixturevalue("running_location")
    return ChromaKnowledge(chroma_client(location(place)), WordEmbedder())


def claims(*texts: str) -> list[Claim]:
    return [Claim(id=f"t1.c{number}", text=text) for number, text in enumerate(texts, 1)]


def known(turn_key: str, *texts: str) -> list[Passage]:
    return [
        Passage(source=SourceKind.KNOWLEDGE, source_id=f"{turn_key}:{claim.id}", text=claim.text)
        for claim in claims(*texts)
    ]


def facts(persona: Persona) -> list[Passage]:
    return [
        Passage(source=SourceKind.PERSONA, source_id=f"{persona.key}:{number}", text=fact, title=persona.name)
        for number, fact in enumerate(persona.facts)
    ]


async def recall(store: KnowledgeStore, conversation: str, **options: object) -> list[Passage]:
    defaults: dict[str, object] = {"persona": None, "query": "tides", "limit": 100}
    return list(await store.recall(conversation, **{**defaults, **options}))  # type: ignore[arg-type]  # as given


async def test_an_unknown_conversation_is_empty(store: KnowledgeStore) -> None:
    assert await recall(store, "nobody") == []
    assert await store.delivered("nobody") == frozenset()
    assert await store.forget("nobody") == 0


async def test_claims_come_back_oldest_first_after_the_persona(store: KnowledgeStore) -> None:
    await store.seed(MIRA)
    await store.remember("a", "ffff", claims("The pier is old.", "The pier is long."))
    await store.remember("a", "0000", claims("The pier burned."))
    await store.remember("a", "8888", claims("The pier stands again."))
    assert await recall(store, "a", persona=MIRA) == [
        *facts(MIRA),
        *known("ffff", "The pier is old.", "The pier is long."),
        *known("0000", "The pier burned."),
        *known("8888", "The pier stands again."),
    ]
    assert await store.delivered("a") == {"ffff", "0000", "8888"}


async def test_a_persona_is_seeded_once_shared_and_recalled_only_when_asked_for(store: KnowledgeStore) -> None:
    for persona in (MIRA, MIRA, TOM, MIRA):
        await store.seed(persona)
    assert await recall(store, "a", persona=MIRA) == await recall(store, "b", persona=MIRA) == facts(MIRA)
    assert await recall(store, "a", persona=TOM) == facts(TOM)
    assert await recall(store, "a") == []


async def test_a_persona_that_was_never_seeded_has_no_facts(store: KnowledgeStore) -> None:
    assert await recall(store, "a", persona=MIRA) == []
    assert await recall(store, "a", persona=Persona(name="Nobody")) == []


async def test_an_edited_persona_is_another_one(store: KnowledgeStore) -> None:
    edited = Persona(name="Mira", facts=("Mira is the director.",))
    await store.seed(MIRA)
    await store.seed(edited)
    assert await recall(store, "a", persona=edited) == facts(edited)


async def test_remembering_a_turn_again_changes_nothing(store: KnowledgeStore) -> None:
    await store.remember("a", "k1", claims("The pier is old."))
    await store.remember("a", "k1", claims("The pier is new.", "It is made of glass."))
    assert await recall(store, "a") == known("k1", "The pier is old.")


async def test_a_turn_without_claims_is_delivered_and_stays_without(store: KnowledgeStore) -> None:
    await store.remember("a", "k1", [])
    await store.remember("a", "k1", claims("Too late."))
    assert await store.delivered("a") == {"k1"}
    assert await recall(store, "a") == []
    assert await store.forget("a") == 0
    assert await store.delivered("a") == frozenset()


async def test_a_turn_never_supports_itself(store: KnowledgeStore) -> None:
    await store.remember("a", "k1", claims("The pier is old."))
    await store.remember("a", "k2", claims("The pier is long."))
    assert await recall(store, "a", exclude_turn="k2") == known("k1", "The pier is old.")


async def test_beyond_the_limit_the_nearest_compete_persona_included_and_keep_their_order(
    store: KnowledgeStore,
) -> None:
    await store.seed(MIRA)
    await store.remember("a", "k1", claims("The pier opened in 1911.", "Lunch is at noon.", "The pier burned in 1950."))
    asked = await recall(store, "a", persona=MIRA, query="When was it that the pier burned in 1950?", limit=2)
    assert [passage.text for passage in asked] == ["The pier opened in 1911.", "The pier burned in 1950."]
    asked = await recall(store, "a", persona=MIRA, query="Mira works at the tide museum. The pier opened.", limit=2)
    assert [passage.text for passage in asked] == ["Mira works at the tide museum.", "The pier opened in 1911."]
    assert await recall(store, "a", persona=MIRA, limit=0) == []


async def test_entries_have_names_of_their_own_even_when_claims_share_one(store: KnowledgeStore) -> None:
    twice = [Claim(id="c", text="The pier is old."), Claim(id="c", text="The pier is old.")]
    await store.remember("a", "k1", twice)
    assert [passage.source_id for passage in await recall(store, "a")] == ["k1:c", "k1:c#2"]


async def test_forget_drops_one_conversation_and_counts_its_claims(store: KnowledgeStore) -> None:
    await store.seed(MIRA)
    await store.remember("a", "k1", claims("The pier is old.", "The pier is long."))
    await store.remember("b", "k1", claims("The boat is red."))
    assert await store.forget("a") == 2
    assert await store.forget("a") == 0
    assert await recall(store, "a", persona=MIRA) == facts(MIRA)
    assert await store.delivered("a") == frozenset()
    assert await recall(store, "b") == known("k1", "The boat is red.")
    await store.remember("a", "k1", claims("The pier is new."))
    assert await recall(store, "a") == known("k1", "The pier is new.")


@pytest.mark.parametrize(
    "identifier",
    ["", " ", "a/b?c=d#e", "é漢字🦊", "x" * 10_000, "line\nbreak\x00null", "\ud83d", "../../etc", "{}$and"],
)
async def test_ids_and_texts_may_hold_anything(store: KnowledgeStore, identifier: str) -> None:
    text = f"{identifier} is odd.".replace("\ud83d", "?")
    await store.remember("another", "k1", claims("Elsewhere."))
    await store.remember(identifier, "k1", claims(f"{identifier} is odd."))
    assert await recall(store, identifier) == known("k1", text)
    assert await store.forget(identifier) == 1
    assert await recall(store, "another") == known("k1", "Elsewhere.")


async def test_200_conversations_at_once_do_not_mix(store: KnowledgeStore) -> None:
    async def talk(number: int) -> list[Passage]:
        await store.seed(MIRA)
        for turn in ("k1", "k2"):
            await store.remember(f"talk {number}", turn, claims(f"{turn} of {number} was said."))
        return await recall(store, f"talk {number}", persona=MIRA)

    expected = [
        [*facts(MIRA), *(known(turn, f"{turn} of {number} was said.")[0] for turn in ("k1", "k2"))]
        for number in range(200)
    ]
    assert await asyncio.gather(*map(talk, range(200))) == expected


async def test_one_turn_delivered_by_many_at_once_is_kept_once(store: KnowledgeStore) -> None:
    said = claims("The pier is old.", "The pier is long.")
    await asyncio.gather(*(store.remember("a", "k1", said) for _ in range(12)))
    assert await recall(store, "a") == known("k1", "The pier is old.", "The pier is long.")


async def test_a_store_serves_threads_with_event_loops_of_their_own(store: KnowledgeStore) -> None:
    def talk(number: int) -> list[Passage]:
        async def both() -> list[Passage]:
            await store.remember(f"{number}", "k1", claims(f"{number} was said."))
            return await recall(store, f"{number}")

        return asyncio.run(both())

    answers = await asyncio.gather(*(asyncio.to_thread(talk, number) for number in range(8)))
    assert answers == [known("k1", f"{number} was said.") for number in range(8)]
