"""Links of a turn to hosts that no document has: finds them, and takes them out of what is delivered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from vista_guard.policy.links import link_mode
from vista_guard.protocols import LinkPolicy, Policy
from vista_guard.reading.links import (
    Reference,
    cut_references,
    document_texts,
    hosts_in,
    is_listed,
    references,
    says_something,
)
from vista_guard.turn.work import Parts, Work
from vista_guard.types import (
    Action,
    Decision,
    DraftSpan,
    EvidenceSet,
    Finding,
    Link,
    Outcome,
    Persona,
    RepairMode,
    Role,
    SourceKind,
    Span,
    Turn,
)

MOST_LINKS = 100
"""Links of one turn that its report names."""
MOST_ADDRESS = 2000
_READERS_OWN = frozenset({"localhost", "127.0.0.1", "[::1]"})


class KnownHosts:
    """The hosts that a turn may lead to: those of documents, tools, the system, the persona and the user, and the policy's own.

    What the assistant said earlier makes no host known. Read when the first link is met, since most turns have none.
    """

    def __init__(
        self,
        turns: Sequence[Turn],
        evidence: EvidenceSet | None,
        outcomes: Sequence[Outcome],
        *,
        persona: Persona | None,
        policy: Policy,
    ) -> None:
        self._turns, self._evidence, self._outcomes, self._persona = turns, evidence, outcomes, persona
        self._listed = policy.link_hosts if isinstance(policy, LinkPolicy) else ()

    def lacks(self, reference: Reference) -> bool:
        """True for a reference to a host that is not known, and for one that runs. A reader's own machine takes no words away."""
        host = reference.host
        if host in _READERS_OWN and reference.kind == "link":
            return False
        return not host or not (host in self._named or is_listed(host, self._listed))

    @cached_property
    def _named(self) -> set[str]:
        return hosts_in(self._texts())

    def _texts(self) -> Iterator[str]:
        for turn in self._turns:
            if turn.role is not Role.ASSISTANT:
                yield turn.text
            for document in turn.documents:
                yield from document_texts(document)
        if self._evidence is not None:
            for passage in (*self._evidence.documents, *self._evidence.knowledge):
                if passage.source is not SourceKind.KNOWLEDGE:
                    yield from (
                        passage.text,
                        passage.title or "",
                        passage.source_id,
                        passage.url or "",
                        *passage.headings,
                    )
        for finding in self._outcomes:  # of passages that were found for one claim
            for piece in finding.evidence if isinstance(finding, Finding) else ():
                if piece.source is SourceKind.DOCUMENT:
                    yield from (piece.quote, piece.title or "", piece.source_id)
        yield from (*self._persona.facts, *self._persona.channel) if self._persona else ()


def known_hosts(work: Work, parts: Parts) -> KnownHosts:
    """The hosts that this turn may lead to."""
    turns = work.conversation.turns
    return KnownHosts(turns, work.evidence, work.outcomes, persona=parts.persona, policy=parts.policy)


def find_links(work: Work, parts: Parts) -> Work:
    """The work with the links of its draft to hosts that no document has, where the policy looks at links."""
    if link_mode(parts.policy) == "allow":
        return work
    known = known_hosts(work, parts)
    return work.with_(links=links_of(reference for reference in references(work.turn.text) if known.lacks(reference)))


def links_of(found: Iterator[Reference] | Sequence[Reference], shift: int = 0) -> tuple[Link, ...]:
    """The references as links, each host of an address once; `shift` is added to their places."""
    links: dict[tuple[int, str], Link] = {}
    for one in found:
        start, end = one.cuts[0][0] + shift, max(end for _, end in one.cuts) + shift
        key = (start, one.host)
        if key not in links and len(links) < MOST_LINKS:
            span = Span(start=start, end=end)
            links[key] = Link(address=one.address[:MOST_ADDRESS], host=one.host or None, kind=one.kind, span=span)
    return tuple(links.values())


def remove_links(work: Work, parts: Parts) -> Work:
    """Takes the links out of the text that is about to be delivered; withholds one that says nothing without them."""
    if link_mode(parts.policy) != "remove" or work.decided.action is Action.BLOCK or not work.links:
        return work
    text, known = work.response or "", known_hosts(work, parts)
    cut = cut_references(text, known.lacks)
    if cut is None or not says_something(cut.text):
        decision = Decision(action=Action.BLOCK, reason="nothing would be left without its links")
        return work.with_(response=parts.policy.message, decision=decision, placed=(), repair=RepairMode.REFUSE)
    if not cut.spans:
        return work
    whole = Span(start=0, end=len(text))
    placed = (DraftSpan(draft=whole, response=whole),) if work.placed is None else work.placed
    response = cut.text.strip()
    shift = cut.text.find(response)
    return work.with_(
        response=response,
        placed=tuple(_placed_without(placed, cut.spans, shift, len(response))),
        repair=work.repair or RepairMode.REDACT,
    )


def _placed_without(placed: Sequence[DraftSpan], gaps: Sequence[Span], shift: int, length: int) -> Iterator[DraftSpan]:
    """Where the pieces of the draft stand once these gaps of the response are gone, and `shift` characters before it."""
    for piece in placed:
        start = piece.response.start
        for gap in (*gaps, Span(start=piece.response.end, end=piece.response.end)):
            end = min(gap.start, piece.response.end)
            if start < end:
                yield from _moved(piece, start, end, _moved_by(gaps, start) + shift, length)
            start = max(start, gap.end)


def _moved_by(gaps: Sequence[Span], place: int) -> int:
    return sum(gap.end - gap.start for gap in gaps if gap.end <= place)


def _moved(piece: DraftSpan, start: int, end: int, back: int, length: int) -> Iterator[DraftSpan]:
    begin, stop = max(start - back, 0), min(end - back, length)
    if begin < stop:
        ahead = piece.draft.start - piece.response.start + back
        yield DraftSpan(draft=Span(start=begin + ahead, end=stop + ahead), response=Span(start=begin, end=stop))
