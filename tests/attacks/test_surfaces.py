"""Every surface under attack: no word that was not judged is read, and nothing of a withheld draft is kept or told anywhere."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import pytest
from langchain_core.runnables import RunnableGenerator

from tests.attacks.answers import LIE, SECRET, TRUTH
from tests.attacks.hosts import AGENTS, CALLED, GRAPHS, NOTES, RUN, Host, Seen, Surface, told_by
from tests.attacks.messages import BESIDE_CALLS, ROLES, SEVERAL, STRANGERS, TALKS, THOUGHT, Said
from vista_guard import Action, Document
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.testing import conversation, user

POLICIES = ("strict", "balanced")
SURFACES = {**AGENTS, **GRAPHS, **CALLED}


Check = Callable[[Seen, Host], None]
Drafts = Sequence[tuple[Said, str]]
"""The sentence, and the policy it is judged under."""


async def withstands(surface: Surface, drafts: Drafts, caplog: pytest.LogCaptureFixture, check: Check) -> None:
    """Attacks a surface with each of these. Nothing of the secret is left, and `check` holds; names all that fail."""
    caplog.set_level(logging.DEBUG)
    failed = []
    for said, policy in drafts:
        caplog.clear()
        host = Host(policy)
        seen = await surface(host, said)
        places = {
            "shown": "\n".join(seen.shown),
            "read": seen.read,
            "kept": seen.kept,
            "error": seen.error,
            "log": caplog.text,
            "known": await host.known(),
        }
        try:
            assert [name for name, text in places.items() if SECRET.partition("-")[0] in text] == []
            check(seen, host)
        except AssertionError as exc:
            failed.append(f"{said}, {policy}: {exc}")
    assert failed == []


def door(name: str) -> str:
    """The door of a surface, by the surface's name; empty for one that has no other."""
    found = re.search(r"\b(async generator|generator|a?invoke|a?stream)\b", name)
    return found[0] if found else ""


def attacks(
    surfaces: Mapping[str, Surface], talks: tuple[Said, ...], *, every_door: bool = True
) -> pytest.MarkDecorator:
    """Each of these on each of these, with the policies in turn; with `every_door` off, the doors of a surface in turn, too."""
    rooms: dict[str, list[str]] = {}
    for name in surfaces:
        rooms.setdefault(name if every_door else name.replace(door(name), "*"), []).append(name)
    drafts: dict[str, list[tuple[Said, str]]] = {name: [] for name in surfaces}
    for row, (doors, (place, said)) in enumerate(product(rooms.values(), enumerate(talks))):
        # Talks come in pairs, alone and behind the truth: each of a pair meets each door, and each policy.
        turn, shift = (row, 0) if every_door else (place // (2 * len(doors)), place // 2)
        drafts[doors[(place + shift) % len(doors)]].append((said, POLICIES[turn % 2]))
    return pytest.mark.parametrize(
        ("surface", "drafts"), [(surfaces[name], drafts[name]) for name in surfaces], ids=list(surfaces)
    )


def blocked(host: Host) -> bool:
    return [report.decision.action for report in host.sink.reports] == [Action.BLOCK]


@attacks(SURFACES, TALKS, every_door=False)
async def test_a_lie_in_an_odd_place_is_withheld(
    surface: Surface, drafts: Drafts, caplog: pytest.LogCaptureFixture
) -> None:
    def check(seen: Seen, host: Host) -> None:
        assert seen.error == ""
        assert seen.read.endswith(MESSAGE)
        assert seen.read.replace(MESSAGE, "").strip() in ("", TRUTH, "```", "~~~text", f"{TRUTH}\n\n~~~text")
        assert blocked(host)

    await withstands(surface, drafts, caplog, check)


@attacks(
    {name: surface for name, surface in SURFACES.items() if "Speaker" in name or "node" in name or "invoke" in name},
    THOUGHT,
)
async def test_thoughts_of_a_withheld_answer_go_with_it(
    surface: Surface, drafts: Drafts, caplog: pytest.LogCaptureFixture
) -> None:
    def check(seen: Seen, _: Host) -> None:
        assert (seen.read, seen.error) == (MESSAGE, "")

    await withstands(surface, drafts, caplog, check)


@attacks({**AGENTS, **CALLED}, STRANGERS)
async def test_who_speaks_as_somebody_else_is_not_shown(
    surface: Surface, drafts: Drafts, caplog: pytest.LogCaptureFixture
) -> None:
    def check(seen: Seen, _: Host) -> None:
        assert "InputError" in seen.error or seen.read.endswith(MESSAGE)

    if surface in STREAMED:  # a tool's message passes in a stream, as it is nobody's answer (docs/design/guarantees.md)
        drafts = [(said, policy) for said, policy in drafts if said.messages[0].type not in ("tool", "function")]
        assert drafts
    await withstands(surface, drafts, caplog, check)


STREAMED = [
    surface for name, surface in CALLED.items() if "generator" in name or ("sentence" in name and "stream" in name)
]


@attacks(SURFACES, ROLES)
async def test_an_assistant_by_its_role_only_is_judged(
    surface: Surface, drafts: Drafts, caplog: pytest.LogCaptureFixture
) -> None:
    def check(seen: Seen, _: Host) -> None:
        assert seen.read.endswith(MESSAGE)

    await withstands(surface, drafts, caplog, check)


@attacks(AGENTS, BESIDE_CALLS)
async def test_words_beside_a_call_are_judged_and_the_agent_goes_on(
    surface: Surface, drafts: Drafts, caplog: pytest.LogCaptureFixture
) -> None:
    def check(seen: Seen, host: Host) -> None:
        assert seen.error == ""
        assert seen.read == TRUTH or seen.read.endswith(MESSAGE)
        assert host.sink.reports[0].decision.action is Action.BLOCK

    await withstands(surface, drafts, caplog, check)


@attacks(GRAPHS, SEVERAL)
async def test_of_several_messages_each_is_judged(
    surface: Surface, drafts: Drafts, caplog: pytest.LogCaptureFixture
) -> None:
    def check(seen: Seen, host: Host) -> None:
        assert (seen.error, seen.read or MESSAGE) == ("", MESSAGE)
        assert blocked(host)

    await withstands(surface, drafts, caplog, check)


TRUE = Said("the truth", (TALKS[0].messages[0].model_copy(update={"content": TRUTH}),))


@attacks(SURFACES, (TRUE,))
async def test_the_truth_comes_through(surface: Surface, drafts: Drafts, caplog: pytest.LogCaptureFixture) -> None:
    def check(seen: Seen, host: Host) -> None:
        assert (seen.read, seen.error) == (TRUTH, "")
        assert [report.decision.action for report in host.sink.reports] == [Action.ALLOW]

    await withstands(surface, drafts, caplog, check)


RAISING = {
    "after the lie": [LIE],
    "in the middle of it": [LIE[:30]],
    "after the truth and the lie": [f"{TRUTH} ", LIE],
    "in the middle of the truth": [TRUTH[:12]],
    "before a word": [],
}


class BrokenOff(Exception):
    """A hostile agent's."""


@pytest.mark.parametrize("gate", ["sentence", "turn"])
@pytest.mark.parametrize("door", ["generator", "async generator", "Runnable", "gated"])
@pytest.mark.parametrize("pieces", RAISING.values(), ids=RAISING)
async def test_what_breaks_off_was_judged_as_far_as_it_was_read(
    pieces: list[str], door: str, gate: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    host, shown = Host("strict"), list[str]()
    request = [{"role": "user", "content": "When did the whale hall open?"}]
    error = ""
    try:
        async for piece in broken_off(door, gate, host, pieces, request):
            shown.append(piece)
    except Exception as exc:
        error = told_by(exc)
    told = "\n".join([*shown, error, caplog.text, await host.known()])
    assert "SECRET" not in told
    assert "".join(shown) in ("", TRUTH, f"{TRUTH} ", MESSAGE, f"{TRUTH}\n\n{MESSAGE}")
    assert "BrokenOff" in error or (gate == "sentence" and host.sink.reports[0].blocked)


async def broken_off(door: str, gate: Any, host: Host, pieces: list[str], request: Any) -> AsyncIterator[str]:
    """What is shown of an agent that says these pieces and raises."""

    def generator(asked: Any) -> Iterator[str]:
        yield from pieces
        raise BrokenOff

    async def agenerator(asked: Any) -> AsyncIterator[str]:
        for piece in pieces:
            yield piece
        raise BrokenOff

    options: Any = {"gate": gate, "documents": [NOTES]}
    if door == "generator":
        for piece in host.guard.wrap(generator, **options)(request, conversation_id="attack"):
            yield str(piece)
    elif door == "async generator":
        async for piece in host.guard.wrap(agenerator, **options)(request, conversation_id="attack"):
            yield str(piece)
    elif door == "Runnable":
        runnable: Any = host.guard.wrap(RunnableGenerator(generator), **options)
        for piece in runnable.stream(request, RUN):
            yield str(piece)
    else:
        documents = (Document(id="notes", text=NOTES),)
        asked = conversation(user("When did the whale hall open?"), id="attack")
        async for item in host.guard.gated(asked, agenerator(None), gate=gate, documents=documents):
            if isinstance(item, str):
                yield item
