"""All nouns: a conversation and its parts, and the report on a guarded turn.

Every model is frozen and has a stable JSON form. Offsets are Python string indices (code points), half-open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from html import escape
from typing import Annotated, Literal, Self
from uuid import uuid4

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator

Probability = Annotated[float, Field(ge=0.0, le=1.0)]

Recommendations = Literal["out_of_scope", "lacking_evidence"]
"""What advice, instructions and permissions are that no document speaks of."""


class Noun(BaseModel):
    """Frozen, and without fields that nobody knows."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Role(StrEnum):
    """Who speaks."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"


class Label(StrEnum):
    """The result for a claim (VISTA §3, steps 2 and 3)."""

    VERIFIED = "VERIFIED"
    OUT_OF_SCOPE = "OUT_OF_SCOPE"
    CONTRADICTED = "CONTRADICTED"
    LACKING_EVIDENCE = "LACKING_EVIDENCE"
    ABSTENTION = "ABSTENTION"


class Action(StrEnum):
    """Actions of a policy, from mildest to strictest."""

    ALLOW = "ALLOW"
    FLAG = "FLAG"
    REPAIR = "REPAIR"
    BLOCK = "BLOCK"


class SourceKind(StrEnum):
    """Where a piece of evidence comes from."""

    DOCUMENT = "document"
    KNOWLEDGE = "knowledge"
    PERSONA = "persona"
    CHANNEL = "channel"
    """A fact about the chat itself: its buttons, forms, languages, house notes."""
    HISTORY = "history"


class Span(Noun):
    """A half-open range of characters."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.end < self.start:
            raise ValueError(f"span ends at {self.end}, before its start {self.start}")
        return self

    def overlaps(self, other: Span) -> bool:
        """True if the spans share a character."""
        return self.start < other.end and other.start < self.end

    def overlap(self, other: Span) -> float:
        """Characters that both have, over those from the first start to the last end, in [0, 1]; 0 for empty ones."""
        common = min(self.end, other.end) - max(self.start, other.start)
        whole = max(self.end, other.end) - min(self.start, other.start)
        return max(common, 0) / whole if whole else 0.0


class Document(Noun):
    """A reference text that a turn may lean on."""

    id: str
    text: str
    title: str | None = None
    url: str | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)


def _unset(value: object) -> bool:
    return value is None


class Claim(Noun):
    """One atomic, decontextualised statement of a turn. `span` is where it sits in the turn's text, when known.

    `in_code`: it is a string or a comment in a block of code. Where no document speaks of it, it is judged as little as the code.

    `steps` are how a decomposer took its sentence apart, in the decomposer's own words: on the sentence's first claim, and only
    with `decomposer_options.keep_steps`.
    """

    id: str
    text: str
    span: Span | None = None
    in_code: bool = Field(default=False, exclude_if=lambda value: not value)
    steps: str | None = Field(default=None, exclude_if=_unset)


class UncheckedClaim(Claim):
    """A claim that is not to be judged, from a decomposer that failed on its sentence: it becomes `Unchecked` with this error."""

    error: str
    raw: str | None = Field(default=None, max_length=2000)
    what: Literal["claim", "code", "encoded"] = "claim"
    """As in `Unchecked`."""
    pending: bool = False
    """True in a turn that is still being written, for a sentence whose turn comes when more of it is there."""


class EarnedClaim(Claim):
    """A claim as it enters the knowledge, with the label that it was delivered under."""

    label: Label = Label.VERIFIED


class Turn(Noun):
    """One message of a conversation.

    `documents` are what an assistant turn was grounded in; `claims`, when given, replace decomposition.
    """

    role: Role
    text: str
    documents: tuple[Document, ...] = ()
    claims: tuple[Claim, ...] | None = None


class Conversation(Noun):
    """Ordered turns. Without an `id` the conversation is anonymous: nothing it establishes outlives the call."""

    turns: tuple[Turn, ...]
    id: str | None = Field(default=None, min_length=1)

    def up_to(self, index: int) -> Conversation:
        """The conversation as it stood when turn `index` had just been said."""
        return self.model_copy(update={"turns": self.turns[: index + 1]})

    def turn_key(self, index: int = -1) -> str:
        """Fingerprint by which knowledge recognises a delivered turn (16 hex digits).

        The same words said a second time are another turn: they may lean on the first.
        """
        *earlier, turn = self.turns[: index + 1] if index >= 0 else self.turns
        times = sum((past.role, past.text) == (turn.role, turn.text) for past in earlier)
        return sha256(f"{turn.role}\x1f{times}\x1f{turn.text}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Persona(Noun):
    """Facts an agent may take for granted about itself; seeds the knowledge (VISTA §3, step 0).

    `channel` are facts about the chat that it speaks in: they verify what it says of the chat, and nothing else.
    """

    name: str
    facts: tuple[str, ...] = ()
    channel: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Changes with any fact, so that an edited persona is seeded anew."""
        parts = (self.name, *self.facts, *(("\x1e", *self.channel) if self.channel else ()))
        return sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


RetrieveBy = Literal["turn", "claim", "both"]
"""What the document store is asked with."""

SearchMode = Literal["hybrid", "vectors", "words"]
"""How the document store is searched: by meaning (vectors), by words (BM25), or by both, joined by rank."""


class Retrieval(Noun):
    """How the document store found a passage.

    `by` names what found it: `vectors`, `words`, both, or `neighbour` for a passage that stands beside a found one. `rank` is its
    place in the search, from 1; a neighbour has that of the passage it stands beside. `cosine` is that of the vectors, `bm25` the
    score of the words, each where that way found it.
    """

    by: tuple[Literal["vectors", "words", "neighbour"], ...]
    rank: int = Field(ge=1)
    cosine: float | None = None
    bm25: float | None = None


class Passage(Noun):
    """A piece of evidence as gathered, before a claim is compared with it. `span` is its place in the source's text.

    `label` is what knowledge was earned with; None counts as VERIFIED. What was OUT_OF_SCOPE supports only itself.
    `headings` are those that a stored passage stands under, the outermost first, each with its marks (`## Fees`).
    """

    source: SourceKind
    source_id: str
    text: str
    title: str | None = None
    span: Span | None = None
    label: Label | None = None
    headings: tuple[str, ...] = Field(default=(), exclude_if=lambda value: not value)
    key: str | None = Field(default=None, exclude=True)
    """Its id in the document store. Part neither of the JSON form nor of comparisons, as `found`."""
    url: str | None = Field(default=None, exclude=True)
    """Its document's. Part neither of the JSON form nor of comparisons."""
    found: Retrieval | None = Field(default=None, exclude=True)
    """How the document store found it. Part neither of the JSON form nor of comparisons: it is the same passage all the same."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Passage) and self._shown == other._shown

    def __hash__(self) -> int:
        return hash(self._shown)

    @property
    def _shown(self) -> tuple[object, ...]:
        return (self.source, self.source_id, self.text, self.title, self.span, self.label, self.headings)


class EvidenceSet(Noun):
    """All evidence for the claims of one turn. Frozen while the turn is judged."""

    documents: tuple[Passage, ...] = ()
    knowledge: tuple[Passage, ...] = ()
    history: tuple[Turn, ...] = ()
    """Earlier turns, only with context = full (VISTA+ctx, §7)."""
    retrieved: bool = Field(default=False, exclude=True)
    """True if `documents` were found in the document store, nearest first: the turn brought none. Not part of the JSON form."""

    @property
    def missing(self) -> bool:
        """True if there is no evidence at all."""
        return not self.documents and not self.knowledge and not self.history

    @property
    def proves_nothing(self) -> bool:
        """True if nothing here could verify a fact. Facts about the chat, remembered opinions, and what the user and the
        assistant said before verify only what is said of the chat, of opinions and of the user."""
        facts = [
            passage
            for passage in self.knowledge
            if passage.source is not SourceKind.CHANNEL and passage.label is not Label.OUT_OF_SCOPE
        ]
        told = [turn for turn in self.history if turn.role not in (Role.USER, Role.ASSISTANT)]
        return not (self.documents or facts or told)


_MARK = re.compile(r"(?<=.) #[0-9a-f]{8}$")


def source_name(title: str | None, source_id: str) -> str:
    """Names a document for people: its title, else its id without the mark that tells equal first words apart.

    Example:
        >>> source_name(None, "The cafe is on the second floor. … #ddf3be57")
        'The cafe is on the second floor. …'
    """
    return title or _MARK.sub("", source_id)


class Evidence(Noun):
    """A quote that speaks for or against one claim. `score` is the judge's probability that it does.

    `headings` and `found` are those of its passage: where it stands, and how the document store found it.
    """

    source: SourceKind
    source_id: str
    quote: str
    title: str | None = None
    span: Span | None = None
    score: Probability
    headings: tuple[str, ...] = Field(default=(), exclude_if=lambda value: not value)
    found: Retrieval | None = Field(default=None, exclude_if=_unset)

    @property
    def name(self) -> str:
        """The source's name for people."""
        return source_name(self.title, self.source_id)


class Nearest(Noun):
    """The quote that came nearest to a claim which nothing confirms. `overlap` is the share of the claim's words in it."""

    source: SourceKind
    source_id: str
    quote: str
    title: str | None = None
    span: Span | None = None
    headings: tuple[str, ...] = Field(default=(), exclude_if=lambda value: not value)
    found: Retrieval | None = Field(default=None, exclude_if=_unset)
    overlap: Probability

    @property
    def name(self) -> str:
        """The source's name for people."""
        return source_name(self.title, self.source_id)


class Finding(Noun):
    """A judged claim. `judged_by` names the judge where several took part in the turn: a cascade, an ensemble.

    `support` is the one of its check. `nearest` is what came nearest to a claim that LACKS evidence, where anything did.
    `unconfirmed`: a judge that should have confirmed it failed, as `reason` says; a policy treats it as unchecked, too.
    """

    kind: Literal["finding"] = "finding"
    claim: Claim
    label: Label
    confidence: Probability
    evidence: tuple[Evidence, ...] = ()
    reason: str
    judged_by: str | None = None
    support: Probability | None = None
    nearest: Nearest | None = Field(default=None, exclude_if=_unset)
    unconfirmed: bool = Field(default=False, exclude_if=lambda value: not value)


class Check(Noun):
    """Result of verify for one claim.

    `confidence` is that of the verdict `supported`. `support` is the probability that the best piece of evidence supports the
    claim, from judges that have one: a disputed claim has high support and is not supported. `counter_evidence` holds what
    speaks against an unsupported claim, when the judge sees refutation while it verifies; categorize may use it. `finding` is
    the label, when the judge came to it together with the verdict: categorize then asks nothing more.
    """

    claim: Claim
    supported: bool
    confidence: Probability
    evidence: tuple[Evidence, ...] = ()
    counter_evidence: tuple[Evidence, ...] = ()
    finding: Finding | None = None
    judged_by: str | None = None
    support: Probability | None = None


class Unchecked(Noun):
    """A claim that could not be judged. Never a label, never a number.

    `what` it is: a statement; a block of code, which says nothing that a document could prove; or text that cannot be read.
    `raw` is what the judge answered where nothing could be read from it, cut to 2,000 characters.
    """

    kind: Literal["unchecked"] = "unchecked"
    claim: Claim
    error: str
    what: Literal["claim", "code", "encoded"] = "claim"
    raw: str | None = Field(default=None, max_length=2000)


Outcome = Annotated[Finding | Unchecked, Field(discriminator="kind")]

UNCHECKED = "UNCHECKED"
"""Stands where a label would, for a claim that could not be judged. It is no label and counts in no score."""


def label_of(outcome: Outcome) -> str:
    """Returns the claim's label, or `UNCHECKED`."""
    return outcome.label.value if isinstance(outcome, Finding) else UNCHECKED


_COLOURS = {
    Label.VERIFIED.value: "#d7f0dd",
    Label.CONTRADICTED.value: "#f9d0d0",
    Label.LACKING_EVIDENCE.value: "#ffeab3",
    Label.OUT_OF_SCOPE.value: "#e3e8ee",
    Label.ABSTENTION.value: "#e3e8ee",
    UNCHECKED: "#ead9fb",
}
"""Of a claim's mark in a notebook."""


def _line(outcome: Finding | Unchecked) -> str:
    """A claim with its label, its best quote or the reason, in a line."""
    if isinstance(outcome, Unchecked):
        return f"{UNCHECKED}: {outcome.claim.text} ({outcome.error})"
    quote = next(iter(outcome.evidence), None)
    shown = outcome.reason if quote is None else f'{quote.name}: "{" ".join(quote.quote.split())}"'
    return f"{outcome.label} {outcome.confidence:.2f}: {outcome.claim.text} ({shown})"


def _printable(line: str) -> str:
    """The line without characters that command a terminal."""
    return "".join(one if one.isprintable() or one in "\n\t" else "\ufffd" for one in line)


class Decision(Noun):
    """The action on a turn, its reason, and the claims behind it."""

    action: Action
    reason: str
    claim_ids: tuple[str, ...] = ()


class Link(Noun):
    """A link, picture or script of a turn that leads to a host which no document has.

    `address` is what the turn has, with entities and escapes read, cut to 2,000 characters. `host` is None for a script and for
    an address without one (`javascript:`, `data:`). `kind`: a reader opens a `link`, an `embed` loads by itself, a `script` runs.
    `span` is its place in the judged draft.
    """

    address: str = Field(max_length=2000)
    host: str | None
    kind: Literal["link", "embed", "script"]
    span: Span


class RepairMode(StrEnum):
    """How a turn that must be repaired is repaired."""

    REGENERATE = "regenerate"
    REDACT = "redact"
    ANNOTATE = "annotate"
    REFUSE = "refuse"


ANONYMOUS = "default"
"""The tenant of everybody behind a proxy without keys."""

SCHEMA_VERSION = "1.7"
"""Version of the report's JSON form: the major part changes when a reader of an older one would break, and another is refused."""


def _check_major(version: str) -> str:
    if version.partition(".")[0] != SCHEMA_VERSION.partition(".")[0]:
        raise ValueError(f"{version!r} has another major part than {SCHEMA_VERSION}, which this vista-guard reads")
    return version


Record = Literal["verdicts", "delivered", "full"]
"""What a sink keeps of a turn's texts beside its report: nothing; what was said and shown; the draft too, withheld or not."""


FailedPart = Literal["upstream", "judge", "store"]


class PartFailure(Noun):
    """Something that broke around a turn. It holds no text.

    `kind` is a class, never a message: of upstream `connect`, `timeout`, `status`, `stream`; of the judge as in the metric
    `vista_guard.unchecked`; of a store `read`, `write`, or `reports` when reports had to wait for their database.
    """

    part: FailedPart
    kind: str
    tenant: str | None = None
    conversation_id: str | None = None
    at: datetime = Field(default_factory=lambda: datetime.now(UTC))


UNREAD, UNWRITTEN, UNREPORTED = "evidence could not be read", "knowledge was not stored", "the report was not stored"
STORE_WARNINGS = {"read": UNREAD, "write": UNWRITTEN, "reports": UNREPORTED}
"""How a report's warning begins whose store failed, by `PartFailure.kind`."""


def failed_stores(warnings: Sequence[str]) -> list[str]:
    """The kinds of `STORE_WARNINGS` among a report's warnings, once each."""
    return [kind for kind, sign in STORE_WARNINGS.items() if any(line.startswith(sign) for line in warnings)]


class Attempt(Noun):
    """A draft that was not delivered as it was: what was found in it, and what was done. Its text is not kept."""

    outcomes: tuple[Outcome, ...]
    decision: Decision
    repair: RepairMode | None = None


class JudgeInfo(Noun):
    """Who judged: enough to reproduce the judgement."""

    name: str
    version: str


class Timings(Noun):
    """Milliseconds spent in each stage, summed over attempts."""

    agent: float = 0.0
    gather: float = 0.0
    decompose: float = 0.0
    verify: float = 0.0
    categorize: float = 0.0
    decide: float = 0.0
    repair: float = 0.0
    remember: float = 0.0
    total: float = 0.0


class Usage(Noun):
    """Calls, tokens and cost of the judge. Zero for a local judge.

    `cached_tokens` are those of `input_tokens` that the endpoint read from its own prompt cache. `cost` is an estimate in US
    dollars of the calls whose price is known; `unpriced_calls` counts the others.
    """

    calls: int = Field(default=0, ge=0)
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    cost: float = Field(default=0.0, ge=0)
    unpriced_calls: int = Field(default=0, ge=0)

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})


class DraftSpan(Noun):
    """A piece of the judged draft that was delivered word for word: its place in the draft and in the response."""

    draft: Span
    response: Span


class TurnTexts(Noun):
    """The texts around one turn, for sinks that were told to keep them. None of them is in the report.

    `user_text` is what the user said last before the turn. `draft` is the text that was judged, to which the spans of claims
    refer: None where it was delivered as it was, and where only delivered texts are kept. `documents` are those that the turn
    was grounded in, `evidence` the passages of document store, knowledge and persona that the judge could see; of passages that
    were found for single claims (`retrieve_by` is `claim` or `both`) those that findings quote.
    """

    user_text: str | None = None
    draft: str | None = None
    documents: tuple[Document, ...] = ()
    evidence: tuple[Passage, ...] = ()


class TurnReport(Noun):
    """Everything about one guarded turn.

    `response` is what was delivered: the turn as it was, repaired, or the policy's message. `outcomes` and `links` are those of
    the draft that was judged last; `links` only lists those to hosts that no document has, where the policy looks at links.
    `score` is the VISTA score in [0, 1], or None when nothing was judged. `risk` is the probability that this draft says
    something its evidence does not carry, None when nothing was judged; `risk_calibrated` says whether it was fitted for the
    judge, or takes confidences at their word. `attempts` are the drafts before it. `remembered` are the claims that entered the
    knowledge. `warnings` name what went wrong without changing the verdict, such as a report store that could not be written.

    `id` names the report (32 hex digits). `trace_id` and `span_id` are those of the turn's span in OpenTelemetry, as hex, where
    it was traced. `gate` says how much of the turn waited for its judgement. `tenant` is whose turn it was behind the proxy.
    `rules` is a fingerprint of the policy's rules, `turn_key` the one by which knowledge knows the delivered turn. Spans of
    claims are places in the judged draft; `draft_spans` say where its pieces stand in `response` (see `delivered_spans`).
    """

    schema_version: Annotated[str, AfterValidator(_check_major)] = SCHEMA_VERSION
    id: str = Field(default_factory=lambda: uuid4().hex, min_length=1, max_length=64)
    conversation_id: str | None
    turn_index: int
    response: str
    outcomes: tuple[Outcome, ...]
    links: tuple[Link, ...] = Field(default=(), exclude_if=lambda value: not value)
    decision: Decision
    score: Probability | None
    risk: Probability | None = None
    risk_calibrated: bool = False
    evidence_missing: bool
    attempts: tuple[Attempt, ...] = ()
    remembered: tuple[Claim, ...] = ()
    judge: JudgeInfo
    policy: str
    rules: str | None = None
    gate: Literal["none", "sentence", "turn"] | None = None
    tenant: str | None = None
    turn_key: str | None = None
    draft_spans: tuple[DraftSpan, ...] = ()
    trace_id: str | None = None
    span_id: str | None = None
    timings: Timings
    usage: Usage = Usage()
    warnings: tuple[str, ...] = ()
    created_at: datetime = Field(default_factory=lambda: datetime.now(UTC))

    def __str__(self) -> str:
        """The decision, the delivered text, and each claim with its label and best quote, a line each."""
        score = "nothing was judged" if self.score is None else f"score {self.score:.2f}"
        lines = [f"{self.decision.action} ({self.policy}, {score}): {self.decision.reason}", self.response, ""]
        return "\n".join(map(_printable, [*lines, *(_line(outcome) for outcome in self.outcomes)])).rstrip()

    def _repr_html_(self) -> str:
        """The delivered text with its claims marked, then the claims: what a notebook shows."""
        marks = sorted(
            (span.start, span.end, label_of(outcome))
            for outcome in self.outcomes
            for span in (self.delivered_spans(outcome.claim.span) if outcome.claim.span else ())
        )
        parts, at = [], 0
        for start, end, label in marks:
            if start >= at:
                style = f"background:{_COLOURS[label]};color:#111"
                mark = f'<mark title="{label}" style="{style}">{escape(self.response[start:end])}</mark>'
                parts += [escape(self.response[at:start]), mark]
                at = end
        text = "".join([*parts, escape(self.response[at:])])
        claims = "".join(f"<li>{escape(_line(outcome))}</li>" for outcome in self.outcomes)
        head = f"<b>{self.decision.action}</b> {escape(self.decision.reason)}"
        return f'<p>{head}</p><blockquote style="white-space:pre-wrap">{text}</blockquote><ul>{claims}</ul>'

    def delivered_spans(self, span: Span) -> tuple[Span, ...]:
        """Where a place in the judged draft stands in `response`: no span where it was not delivered, several where it was cut.

        `report.delivered_spans(finding.claim.span)` draws a claim in what the user read. Reports without `draft_spans`, such
        as ones that were made by hand, are taken at their word: what was let through or flagged is the draft.
        """
        if not self.draft_spans and self.gate is None and self.decision.action in (Action.ALLOW, Action.FLAG):
            return (span,) if span.end <= len(self.response) else ()
        spans = []
        for piece in self.draft_spans:
            start, end = max(span.start, piece.draft.start), min(span.end, piece.draft.end)
            if start < end:
                shift = piece.response.start - piece.draft.start
                spans.append(Span(start=start + shift, end=end + shift))
        return tuple(spans)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The outcomes that carry a label."""
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, Finding))

    @property
    def unchecked(self) -> tuple[Unchecked, ...]:
        """The outcomes that could not be judged."""
        return tuple(outcome for outcome in self.outcomes if isinstance(outcome, Unchecked))

    @property
    def unconfirmed(self) -> tuple[Finding, ...]:
        """The findings whose confirmation failed."""
        return tuple(finding for finding in self.findings if finding.unconfirmed)

    @property
    def blocked(self) -> bool:
        """True if the turn was withheld."""
        return self.decision.action is Action.BLOCK
