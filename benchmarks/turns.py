"""The judged turns: four claims about a made-up lighthouse, worded anew for each run so that no cache answers."""

from __future__ import annotations

from vista_guard.types import Claim, Conversation, Document, Role, Turn

FACTS = (
    "The lighthouse of Port Ellery was built in 1862 by the engineer Jonas Trell. Its tower is forty-one metres high and made "
    "of grey granite from the quarries of Sund. The lamp burned oil until 1911 and has been electric since then. Three "
    "keepers lived on the rock in turns of six weeks each. The light can be seen from nineteen nautical miles away in clear "
    "weather. A storm destroyed the first landing stage in 1894, and a new one of iron replaced it two years later. The "
    "last keeper left in 1987, when the station was automated. Since 2003 the tower has been open to visitors on summer "
    "weekends. Its oil store houses a small exhibition on the lives of the keepers and on the wrecks."
)
"""About 150 tokens."""

KNOWN = tuple(
    f"The lighthouse of Port Ellery {said}."
    for said in (
        "was built in 1862", "is forty-one metres high", "is made of granite", "had an oil lamp until 1911",
        "had three keepers", "was automated in 1987", "is open on summer weekends", "lost its landing stage in 1894",
        "has an iron landing stage", "stands on a reef", "houses a small exhibition", "can be seen from far away",
        "has an electric lamp", "was designed by Jonas Trell", "has a spiral staircase", "is painted grey",
        "is run by a trust", "has a fog signal", "had its keepers relieved every six weeks", "appears on old charts",
    )
)  # fmt: skip
"""Twenty claims that the conversation has established."""

CLAIMS = (
    "The lighthouse was built by Jonas Trell for {n} guilders.",
    "Its tower is forty-one metres high and has {n} steps.",
    "The lamp was oil until 1911 and cost {n} guilders a year.",
    "The tower had {n} visitors in its first open summer.",
)


REPEATED = (
    "A storm destroyed the first landing stage in 1894.",
    "The last keeper left in 1987, when the station was automated.",
)
"""Sentences of the document, nearly word for word."""


def turn(number: int, *, given: bool, document: str = FACTS, settled: int = 0) -> Conversation:
    """Conversation `number`: a question, and an answer of four claims, which it brings along when `given`.

    The last `settled` ones repeat what the document says, and need no second reading.
    """
    claims = [claim.format(n=1000 + number) for claim in (*CLAIMS[: len(CLAIMS) - settled], *REPEATED[:settled])]
    answer = Turn(
        role=Role.ASSISTANT,
        text=" ".join(claims),
        documents=(Document(id="lighthouse", title="The lighthouse", text=document),),
        claims=tuple(Claim(id=f"c{place}", text=claim) for place, claim in enumerate(claims, 1)) if given else None,
    )
    question = Turn(role=Role.USER, text="What should I know about the lighthouse?")
    return Conversation(turns=(question, answer), id=f"bench-{number}")


def known_claims() -> tuple[Claim, ...]:
    """`KNOWN` as claims."""
    return tuple(Claim(id=f"k{place}", text=text) for place, text in enumerate(KNOWN, 1))


def long_document() -> str:
    """About 2,000 tokens in thirteen paragraphs, each about another lighthouse."""
    places = (
        "Ellery",
        "Sund",
        "Varn",
        "Holm",
        "Tresk",
        "Oding",
        "Quay",
        "Marl",
        "Lisk",
        "Fenna",
        "Brod",
        "Aster",
        "Kell",
    )
    return "\n\n".join(FACTS.replace("Port Ellery", f"Port {place}") for place in places)
