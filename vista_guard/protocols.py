"""Protocols for judges, verifiers, stores, policies and sinks.

Every batch method returns one item for each input, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from vista_guard.types import (
    Check,
    Claim,
    Decision,
    Document,
    EvidenceSet,
    Finding,
    JudgeInfo,
    Outcome,
    Passage,
    Persona,
    Record,
    RepairMode,
    Turn,
    TurnReport,
    TurnTexts,
    Unchecked,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@runtime_checkable
class Judge(Protocol):
    """Decomposes, verifies and categorises.

    Raise `JudgeError` for what fails as a whole; answer `Unchecked` for one claim that could not be judged.

        class Literal:
            info = JudgeInfo(name="literal", version="1")

            async def decompose(self, turn, history):
                return [Claim(id="c1", text=turn.text)]

            async def verify(self, claims, evidence):
                known = " ".join(passage.text for passage in evidence.documents)
                return [Check(claim=claim, supported=claim.text in known, confidence=1.0) for claim in claims]

            async def categorize(self, checks, evidence):
                return [Finding(claim=c.claim, label=Label.LACKING_EVIDENCE, confidence=1.0, reason="not said") for c in checks]

        guard = Guard(Literal(), "strict")
    """

    @property
    def info(self) -> JudgeInfo: ...

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """Atomic claims of `turn`; `history` is the turns before it. Ids are unique within the turn."""
        ...

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]: ...

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """Says why each check failed; only unsupported checks are passed in, and VERIFIED is not a valid answer."""
        ...


@runtime_checkable
class TurnJudge(Judge, Protocol):
    """A judge that can take a turn apart and judge its claims in one go."""

    async def judge_turn(
        self, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
    ) -> Sequence[Check | Unchecked] | None:
        """Verdicts on the turn's claims, in the order in which the turn makes them; an empty sequence when it makes none.

        None when this judge, as it is configured, wants to be asked stage by stage.
        """
        ...


class Decomposer(Protocol):
    """Takes turns apart into claims, in place of the judge that verifies them. Every `Judge` is one.

    class Sentences:
        info = JudgeInfo(name="sentences", version="1")

        async def decompose(self, turn, history):
            return [Claim(id=f"t{len(history)}.c{n}", text=one) for n, one in enumerate(turn.text.split(". "), 1)]

    guard = Guard.from_settings(decomposer=Sentences())
    """

    @property
    def info(self) -> JudgeInfo:
        """Part of the judge's version in every report."""
        ...

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """Splits a turn into claims, in the turn's order, as a judge does."""
        ...


class Verifier(Protocol):
    """How far a piece of evidence supports a claim. Any cross-encoder can take the place of the embedded judge's own.

    class Lexical:
        name = "lexical"

        def probabilities(self, pairs):
            return np.array([[0.9, 0.0, 0.1] if claim in evidence else [0.1, 0.0, 0.9] for evidence, claim in pairs])

    judge = EmbeddedJudge.load(OnnxEmbedder(), verifier=Lexical())
    """

    @property
    def name(self) -> str:
        """Part of the judge's version in every report."""
        ...

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """P(supported), P(contradicted) and P(not enough) of each (evidence, claim): shape (pairs, 3), rows sum to 1.

        Called in worker threads, several at once; `JudgeError` for what fails.
        """
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors: float32, shape (texts, dimension)."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


@runtime_checkable
class BoundedEmbedder(Embedder, Protocol):
    """An embedder that reads only so much of a text. Document stores cut passages that it reads to their end.

    One without `reads` is given up to 700 characters at a time.
    """

    def reads(self, text: str) -> int:
        """Characters of `text`, from its start, that its vector stands for; at least 1, all of them for a short text."""
        ...


@runtime_checkable
class QueryEmbedder(Embedder, Protocol):
    """An embedder that reads a query otherwise than a passage, as the E5 models do. `embed` is for passages.

    class Prefixed:
        def embed(self, texts):
            return vectors([f"passage: {text}" for text in texts])

        def embed_queries(self, texts):
            return vectors([f"query: {text}" for text in texts])
    """

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors to compare with those of `embed`: float32, shape (texts, dimension)."""
        ...


class KnowledgeStore(Protocol):
    """The conversations' knowledge: persona facts, then remembered claims of delivered turns.

    Every method raises `StoreError` when the store cannot be read or written.
    """

    async def seed(self, persona: Persona) -> None:
        """Stores the persona's facts once; conversations that recall with this persona share them. Idempotent."""
        ...

    async def recall(
        self, conversation_id: str, *, persona: Persona | None, query: str, limit: int, exclude_turn: str | None = None
    ) -> Sequence[Passage]:
        """Persona facts (sources PERSONA and CHANNEL), then this conversation's claims (source KNOWLEDGE, oldest first).

        At most `limit` in all: everything when it fits, else the entries nearest in meaning to `query`. Claims remembered from
        the turn with key `exclude_turn` are left out: a turn never supports itself. A passage's `source_id` names the entry
        uniquely.
        """
        ...

    async def remember(self, conversation_id: str, turn_key: str, claims: Sequence[Claim]) -> None:
        """Records that the turn with this key was delivered, and its claims (maybe none). Idempotent for a turn key.

        A claim that was not VERIFIED comes as an `EarnedClaim`; its passage carries its `label`, or it would support plain facts.
        """
        ...

    async def delivered(self, conversation_id: str) -> frozenset[str]:
        """Keys of the turns that `remember` recorded."""
        ...

    async def forget(self, conversation_id: str) -> int:
        """Drops all that the conversation established and returns the number of claims. The persona stays."""
        ...

    async def aclose(self) -> None: ...


class DocumentStore(Protocol):
    """Reference documents to retrieve from when a turn brings none."""

    async def add(self, documents: Sequence[Document]) -> int:
        """Adds or replaces documents by id, chunked. Returns the number of passages stored for them."""
        ...

    async def search(self, query: str, limit: int) -> Sequence[Passage]:
        """Passages nearest in meaning to `query`, best first, with spans into the document's text."""
        ...

    async def delete(self, document_id: str) -> int: ...

    async def aclose(self) -> None: ...


@runtime_checkable
class NeighbourStore(DocumentStore, Protocol):
    """A document store that knows what stands beside a passage in its document."""

    async def neighbours(self, found: Sequence[Passage], count: int = 1) -> Sequence[Passage]:
        """The passages up to `count` places beside those found that are not among them; their `found.by` is `neighbour`."""
        ...


class Sink(Protocol):
    """Takes finished reports. A failing sink never changes what the user sees; it raises `StoreError`."""

    async def write(self, report: TurnReport) -> None: ...


@runtime_checkable
class Forgetting(Protocol):
    """A sink that can delete what it kept of a conversation: `Guard.forget` asks it to."""

    async def forget(self, conversation_id: str) -> int:
        """Deletes all of it, texts included; returns the number of reports."""
        ...


@runtime_checkable
class ChatFacts(Protocol):
    """A sink that knows facts about the chat itself, such as those that reviewers add: each turn is verified against them."""

    async def chat_facts(self, tenant: str | None) -> Sequence[str]:
        """The facts of this tenant's chat, a sentence each, as they are now. Asked for each turn: quick, raises nothing."""
        ...


@runtime_checkable
class TextSink(Sink, Protocol):
    """A sink that also keeps texts around the turn: what the user said, documents, the draft.

    `record` says which; with `verdicts` it gets reports alone, by `write`. No log, trace or checkpoint has these texts.
    """

    @property
    def record(self) -> Record: ...

    async def write_turn(self, report: TurnReport, texts: TurnTexts) -> None:
        """Like `write`, with the texts that `record` asks for; called instead of it."""
        ...


class ReportStore(Sink, Protocol):
    """A sink that can be read back."""

    async def reports(self, conversation_id: str | None = None, *, limit: int = 1000) -> Sequence[TurnReport]:
        """The newest `limit`, oldest of them first; of all conversations when no id is given."""
        ...

    async def forget(self, conversation_id: str) -> int: ...

    async def aclose(self) -> None: ...


class Policy(Protocol):
    """A pure function from a turn's outcomes to a decision."""

    @property
    def name(self) -> str: ...

    @property
    def repair(self) -> RepairMode: ...

    @property
    def fallback(self) -> RepairMode:
        """The repair when `repair` is REGENERATE and no agent can be asked, or its attempts are spent."""
        ...

    @property
    def max_attempts(self) -> int:
        """How often a turn may be regenerated before the fallback; 0 for never."""
        ...

    @property
    def message(self) -> str:
        """The text shown to the user in place of a withheld turn."""
        ...

    @property
    def withholds(self) -> bool:
        """True if it ever decides REPAIR or BLOCK: a stream must then hold back what is not judged yet."""
        ...

    @property
    def repairs(self) -> bool:
        """True if it ever decides REPAIR: a stream whose turn may be regenerated shows nothing before the decision."""
        ...

    def __call__(self, outcomes: Sequence[Outcome], *, evidence_missing: bool) -> Decision: ...


@runtime_checkable
class RiskPolicy(Policy, Protocol):
    """A policy that looks at the turn's risk too. `weigh` is asked in place of calling it."""

    def weigh(self, outcomes: Sequence[Outcome], *, evidence_missing: bool, risk: float | None) -> Decision:
        """Like calling it; `risk` is the report's, in [0, 1], None when nothing was judged."""
        ...


@runtime_checkable
class LinkPolicy(Policy, Protocol):
    """A policy that looks at links to hosts that no document has. For any other policy, links are not read."""

    @property
    def links(self) -> Literal["allow", "flag", "remove"]:
        """The mode for such links: left alone, flagged (FLAG), or removed from the delivered text (REPAIR)."""
        ...

    @property
    def link_hosts(self) -> Sequence[str]:
        """Hosts that are always fine: `docs.example.com`, or `*.example.org` for all of its subdomains."""
        ...
