"""Attacks that are made of others: a spelling in a frame, on a surface, in pieces of some size, beside sources of some trust."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from tests.attacks.frames import MENTIONS
from tests.attacks.messages import Said, chunks_of
from tests.attacks.spellings import forms
from tests.attacks.statements import STATEMENTS
from vista_guard import Action, Document, Guard, Label, Persona, TurnReport
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.testing import conversation, user
from vista_guard.types import Role, SourceKind, Turn

FORMS = forms()
HALL = STATEMENTS[0]
EXAMPLES = 30
"""About half a second each."""
FRAMES = tuple(frame for frame in MENTIONS if "{" in frame)


@pytest.fixture(scope="module")
def guards() -> Iterator[dict[str, Guard]]:
    """One of each policy, with the judge that ships."""
    lying = Persona(name="Mira", facts=(HALL.false,))
    first = Guard.from_settings(policy="strict", store="memory")
    parts: Any = {"knowledge": first.parts.knowledge}
    made = {"strict": first, "balanced": Guard(first.parts.judge, "balanced", **parts)}
    made |= {
        f"{name} persona": Guard(first.parts.judge, name, persona=lying, **parts) for name in ("strict", "balanced")
    }
    yield made
    first.close()


@st.composite
def lies(draw: st.DrawFn) -> str:
    """A lie in any spelling, alone or with the truth or small talk around it."""
    lie = FORMS[draw(st.sampled_from(sorted(FORMS)))]("1850")
    before = draw(st.sampled_from(("", "Hello!\n\n", f"{HALL.plain}\n\n", "Of course, here you are.\n\n")))
    after = draw(st.sampled_from(("", "\n\nAnything else?", f"\n\n{HALL.plain}", "\n\n```\nx = 1\n```")))
    return f"{before}{lie}{after}"


@st.composite
def grounds(draw: st.DrawFn) -> dict[str, Any]:
    """The truth in a document; and the lie from a source that may not say it, or only mentions it."""
    mention = draw(st.sampled_from(FRAMES)).format(**HALL.forms("1850"))
    source = draw(st.sampled_from(("nobody", "user", "block", "document", "persona", "past")))
    said = {"user": [user(HALL.false)], "block": [user(f"<context>{HALL.false}</context>")]}.get(source, [])
    documents = [HALL.plain, *([mention[0].upper() + mention[1:]] if source == "document" else [])]
    return {"persona": source == "persona", "said": said, "documents": documents}


SURFACES = ("check", "gated sentence", "gated turn", "generator", "async generator", "callable", "messages")


async def heard(
    surface: str, guard: Guard, draft: str, asked: Any, documents: list[str], size: int
) -> tuple[str, TurnReport]:
    """What is read of a draft on a surface, and its report."""
    told: list[TurnReport] = []
    found = [Document(id=f"d{number}", text=text) for number, text in enumerate(documents)]
    pieces = [draft[start : start + size] for start in range(0, len(draft), size)]

    async def streamed(_: Any) -> AsyncIterator[str]:
        for piece in pieces:
            yield piece

    def generated(_: Any) -> Iterator[str]:
        yield from pieces

    def messages(_: Any) -> Iterator[Any]:
        yield from chunks_of(Said("draft", (AIMessage(draft),)).messages[0], size)

    if surface == "check":
        report = await guard.acheck(asked.model_copy(update={"turns": (*asked.turns, _turn(draft, found))}))
        return report.response, report
    if surface.startswith("gated"):
        gate: Any = surface.partition(" ")[2]
        items = [item async for item in guard.gated(asked, streamed(None), gate=gate, documents=found)]
        return "".join(item for item in items if isinstance(item, str)), items[-1]  # type: ignore[return-value]
    options: Any = {"documents": found, "on_report": told.append}
    if surface == "async generator":
        shown = "".join([piece async for piece in guard.wrap(streamed, **options)(asked)])
    elif surface == "callable":
        shown = await asyncio.to_thread(guard.wrap(lambda _: draft, **options), asked)
    else:
        agent: Any = guard.wrap(generated if surface == "generator" else messages, **options)
        said = await asyncio.to_thread(lambda: list(agent(asked)))
        shown = "".join(one if isinstance(one, str) else str(one.text) for one in said)
    return str(shown), told[-1]


def _turn(draft: str, found: list[Document]) -> Turn:
    return Turn(role=Role.ASSISTANT, text=draft, documents=tuple(found))


HELD = (Label.CONTRADICTED, Label.LACKING_EVIDENCE)
"""What is held against a turn."""


@settings(max_examples=EXAMPLES, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    draft=lies(),
    ground=grounds(),
    surface=st.sampled_from(SURFACES),
    policy=st.sampled_from(("strict", "balanced")),
    size=st.sampled_from((1, 3, 17, 400)),
)
def test_no_composed_attack_is_read(
    guards: dict[str, Guard], draft: str, ground: dict[str, Any], surface: str, policy: str, size: int
) -> None:
    asked = conversation(*ground["said"], user("When did the whale hall open?"))
    guard = guards[f"{policy} persona" if ground["persona"] else policy]
    shown, report = asyncio.run(heard(surface, guard, draft, asked, ground["documents"], size))
    withheld = report.decision.action in (Action.BLOCK, Action.REPAIR)
    verified = [one for one in report.findings if one.label is Label.VERIFIED and "1850" in one.claim.text]
    # A persona is the operator's word. In an odd spelling no document is seen to deny it (docs/design/guarantees.md).
    trusted = all(piece.source is SourceKind.PERSONA for one in verified for piece in one.evidence)
    assert verified == [] or (ground["persona"] and trusted), verified
    # `balanced` lets through with a flag what nothing confirms; what the document denies it withholds too.
    told = withheld or (policy == "balanced" and report.decision.action is Action.FLAG)
    if policy == "balanced" and ground["persona"]:
        # A figure that the persona has too stands somewhere, and one weak alarm may stay below the flag: then it is marked.
        lies_told = [one for one in report.findings if "1850" in one.claim.text]
        told = told or (bool(lies_told) and all(one.label in HELD for one in lies_told))
    assert told or report.unchecked or verified, (draft, ground, surface, policy, report.outcomes)
    assert not withheld or MESSAGE in shown or report.decision.action is Action.REPAIR
    # All that is read was delivered by the report, letter by letter.
    assert shown == report.response
    # In a stream `balanced` may have let a line go, with a flag, before the one that it withheld.
    # In a stream a question, or the lead-in of a list, may be read before what it leads to is withheld: neither says anything.
    said = shown if surface == "check" else re.sub(r"(?m)^\W*1850\W*$|[^.!?\n]*\?", "", shown)
    assert not report.blocked or "1850" not in said or (policy == "balanced" and surface != "check")
