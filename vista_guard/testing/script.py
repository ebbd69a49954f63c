"""A scripted judge, an embedder without a model, builders of conversations, and scripts for `ScriptedChatServer`."""

from __future__ import annotations

import html
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from vista_guard.errors import JudgeError
from vista_guard.reading.passages import quote_of
from vista_guard.types import (
    Check,
    Claim,
    Conversation,
    Document,
    Evidence,
    EvidenceSet,
    Finding,
    JudgeInfo,
    Label,
    Role,
    SourceKind,
    Span,
    Turn,
    Unchecked,
    Usage,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class WordEmbedder:
    """Embeds a text by its words, each hashed to a place: texts that share words are near.

    >>> WordEmbedder(dimension=8).embed(["old pier", "pier old"]).shape
    (2, 8)
    """

    def __init__(self, dimension: int = 384) -> None:
        self._dimension = dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns unit vectors, shape (texts, dimension)."""
        import numpy as np

        vectors = np.zeros((len(texts), self._dimension), np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split() or [""]:
                place = int.from_bytes(sha256(word.encode("utf-8", "surrogatepass")).digest()[:4]) % self._dimension
                vectors[row, place] += 1.0
        unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


@dataclass(frozen=True)
class Verdict:
    """The scripted judge's verdict on one claim. `text` gets a span when it occurs in the turn word for word.

    With `needs` the claim is VERIFIED only when some evidence holds that text, and gets `label` otherwise. `error` makes
    the judge answer `Unchecked`.
    """

    text: str
    label: Label = Label.VERIFIED
    confidence: float = 1.0
    needs: str | None = None
    quote: str | None = None
    error: str | None = None


@dataclass
class ScriptedJudge:
    """A judge with a script of verdicts, by the exact text of a turn.

    A turn that is not in the script raises `JudgeError`, and `assert_spent` fails; it also fails when a scripted turn was
    never judged.

    Examples:
        >>> from vista_guard import Guard
        >>> judge = ScriptedJudge({"It is old.": [Verdict("The pier is old.")]})
        >>> Guard(judge).check(conversation(assistant("It is old.", "The pier is old."))).score
        1.0
        >>> judge.assert_spent()
    """

    script: Mapping[str, Sequence[Verdict] | Exception]
    info: JudgeInfo = field(default_factory=lambda: JudgeInfo(name="scripted", version="1"))
    asked: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    evidence: list[EvidenceSet] = field(default_factory=list)
    _verdicts: dict[tuple[str, str], Verdict] = field(default_factory=dict)

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """Returns the turn's scripted claims."""
        self.asked.append(turn.text)
        if turn.text not in self.script:
            self.unexpected.append(turn.text)
            raise JudgeError(f"the script has no turn {turn.text!r}")
        verdicts = self.script[turn.text]
        if isinstance(verdicts, Exception):
            raise verdicts
        claims = [self._claim(turn, len(history), number, verdict) for number, verdict in enumerate(verdicts, 1)]
        for claim, verdict in zip(claims, verdicts, strict=True):
            self._verdicts[claim.id, claim.text] = verdict
        return claims

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """Supports claims as scripted."""
        self.evidence.append(evidence)
        return [self._check(claim, evidence) for claim in claims]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """Labels claims as scripted."""
        return [self._finding(check) for check in checks]

    def assert_spent(self) -> None:
        """Fails unless exactly the scripted turns were judged."""
        unused = [text for text in self.script if text not in self.asked]
        if self.unexpected or unused:
            raise AssertionError(
                f"asked about turns outside the script: {self.unexpected}; never asked about: {unused}"
            )

    def _claim(self, turn: Turn, index: int, number: int, verdict: Verdict) -> Claim:
        start = turn.text.find(verdict.text)
        span = None if start < 0 else Span(start=start, end=start + len(verdict.text))
        return Claim(id=f"t{index}.c{number}", text=verdict.text, span=span)

    def _verdict(self, claim: Claim) -> Verdict:
        default = Verdict(claim.text, Label.LACKING_EVIDENCE)
        return self._verdicts.get((claim.id, claim.text), default)

    def _check(self, claim: Claim, evidence: EvidenceSet) -> Check | Unchecked:
        verdict = self._verdict(claim)
        if verdict.error is not None:
            return Unchecked(claim=claim, error=verdict.error)
        pieces = [*evidence.documents, *evidence.knowledge]
        if verdict.needs is None:
            supported, quotes = verdict.label is Label.VERIFIED, pieces[:1]
        else:
            quotes = [piece for piece in pieces if verdict.needs in piece.text]
            supported = bool(quotes)
        cited = tuple(quote_of(piece, 1.0) for piece in quotes)
        return Check(
            claim=claim, supported=supported, confidence=verdict.confidence, evidence=cited if supported else ()
        )

    def _finding(self, check: Check) -> Finding | Unchecked:
        verdict = self._verdict(check.claim)
        label = Label.LACKING_EVIDENCE if verdict.label is Label.VERIFIED else verdict.label
        confidence, reason = verdict.confidence, f"scripted as {label}"
        evidence: tuple[Evidence, ...] = ()
        if verdict.quote:
            source = SourceKind.DOCUMENT
            evidence = (Evidence(source=source, source_id="script", quote=verdict.quote, score=confidence),)
        return Finding(claim=check.claim, label=label, confidence=confidence, evidence=evidence, reason=reason)


def user(text: str) -> Turn:
    """Builds a user turn.

    Examples:
        >>> user("How old is it?").role.value
        'user'
    """
    return Turn(role=Role.USER, text=text)


def assistant(text: str, *documents: Document | str, claims: Sequence[str] | None = None) -> Turn:
    """Builds an assistant turn. Documents given as texts are named d1, d2, …

    >>> assistant("It is old.", "The pier is old.").documents[0].id
    'd1'
    """
    sources = tuple(
        Document(id=f"d{number}", text=document) if isinstance(document, str) else document
        for number, document in enumerate(documents, 1)
    )
    own_claims = None
    if claims is not None:
        own_claims = tuple(Claim(id=f"c{number}", text=claim) for number, claim in enumerate(claims, 1))
    return Turn(role=Role.ASSISTANT, text=text, documents=sources, claims=own_claims)


def conversation(*turns: Turn, id: str | None = None) -> Conversation:
    """Builds a conversation.

    >>> conversation(user("How old?"), assistant("Very."), id="talk").id
    'talk'
    """
    return Conversation(turns=turns, id=id)


Api = Literal["chat", "responses"]


@dataclass(frozen=True)
class Answer:
    """A scripted answer of the model.

    `text` None gives a null content, `refusal` a refusal instead of a text. With `function` the text is delivered as the
    arguments of a call of that function. Token numbers that are None are counted roughly (`count_tokens`); with
    `usage` False none are sent, as some servers do. `latency` (seconds) replaces the server's own. `first` are the tokens
    with which the answer might have begun, with the natural logarithms of their probabilities: sent to callers of chat
    completions that ask for `logprobs` and do not stream. `reasoning` is sent to these as `reasoning_content`.
    """

    text: str | None = ""
    finish: Literal["stop", "length", "content_filter"] = "stop"
    refusal: str | None = None
    function: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    usage: bool = True
    latency: float | None = None
    first: Mapping[str, float] = field(default_factory=dict)
    reasoning: str = ""


@dataclass(frozen=True)
class Fault:
    """A scripted failure, made by the class methods. `latency` is in seconds from the request's arrival.

    Examples:
        >>> Fault.http(429, retry_after=2).headers
        {'retry-after': '2'}
    """

    kind: Literal["http", "html", "reset", "hang", "cut", "empty"]
    status: int = 200
    message: str | None = None
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    share: float = 0.5
    clean: bool = False
    latency: float = 0.0

    @classmethod
    def http(
        cls,
        status: int,
        *,
        message: str | None = None,
        code: str | None = None,
        retry_after: float | str | None = None,
        headers: Mapping[str, str] | None = None,
        latency: float = 0.0,
    ) -> Fault:
        """An error in OpenAI's form. `retry_after`: seconds, or an HTTP date."""
        hint = {} if retry_after is None else {"retry-after": str(retry_after)}
        return cls("http", status, message, code, {**hint, **(headers or {})}, latency=latency)

    @classmethod
    def html(cls, status: int = 502, *, latency: float = 0.0) -> Fault:
        """An HTML page, as gateways send it; also with status 200."""
        return cls("html", status, latency=latency)

    @classmethod
    def reset(cls, *, latency: float = 0.0) -> Fault:
        """Resets the connection before any answer."""
        return cls("reset", latency=latency)

    @classmethod
    def hang(cls) -> Fault:
        """Never answers."""
        return cls("hang")

    @classmethod
    def cut(cls, text: str = "", *, share: float = 0.5, clean: bool = False, latency: float = 0.0) -> Fault:
        """Cuts the answer `text` off after this share of its bytes or, streamed, of its events.

        With `clean` the response ends as HTTP wants it, so that only its content is incomplete; else the connection is closed.
        """
        return cls("cut", text=text, share=share, clean=clean, latency=latency)

    @classmethod
    def empty(cls, *, latency: float = 0.0) -> Fault:
        """A well-formed answer without any choice (chat completions) or output (responses)."""
        return cls("empty", latency=latency)


Reply: TypeAlias = str | Answer | Fault


@dataclass(eq=False)
class ReceivedRequest:
    """A received call. Times are `time.monotonic()`; `ended` and `status` are None until it is answered.

    `headers` have lower-case names and are never printed or logged: they hold the caller's key.
    """

    number: int
    api: Api
    body: Mapping[str, Any]
    started: float
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    ended: float | None = None
    status: int | None = None
    usage: Usage | None = None

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def stream(self) -> bool:
        return self.body.get("stream") is True

    @property
    def seed(self) -> int | None:
        return self.body.get("seed")

    @property
    def messages(self) -> list[tuple[str, str]]:
        """(role, text) of every message, in order, without parts that are no text."""
        if self.api == "chat":
            return [(message["role"], _text(message.get("content"))) for message in self.body.get("messages", ())]
        instructions = self.body.get("instructions")
        system = [("system", str(instructions))] if instructions else []
        inputs = self.body.get("input", ())
        if isinstance(inputs, str):
            return [*system, ("user", inputs)]
        return [*system, *((item["role"], _text(item.get("content"))) for item in inputs if "role" in item)]

    @property
    def user(self) -> str:
        """The last user message."""
        return next((text for role, text in reversed(self.messages) if role == "user"), "")

    @property
    def text(self) -> str:
        """All messages, joined by line breaks."""
        return "\n".join(text for _, text in self.messages)

    @property
    def schema_name(self) -> str | None:
        """Name of the requested JSON schema."""
        name = self._schema_format().get("name")
        return name if isinstance(name, str) else None

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The requested JSON schema."""
        return self._schema_format().get("schema")

    @property
    def prompt(self) -> str:
        """The whole prompt in the order of a prefix cache: tools, schema, messages."""
        extra = [json.dumps(part, sort_keys=True) for part in (self.body.get("tools"), self.schema) if part]
        return "\n".join([*extra, *(f"{role}: {text}" for role, text in self.messages)])

    @property
    def answer_format(self) -> Mapping[str, Any]:
        """The requested form of the answer; empty for a text."""
        chat = self.api == "chat"
        return (self.body.get("response_format") if chat else (self.body.get("text") or {}).get("format")) or {}

    def _schema_format(self) -> Mapping[str, Any]:
        schema = self.answer_format.get("json_schema") if self.api == "chat" else self.answer_format
        return schema if isinstance(schema, Mapping) else {}


@dataclass(frozen=True)
class Rejected:
    """A call that a real endpoint would refuse, or that the script has no answer for, and the reason."""

    request: ReceivedRequest
    message: str


Script: TypeAlias = str | Sequence[Reply] | Callable[[ReceivedRequest], Reply]
Faults: TypeAlias = Mapping[int, Fault] | Callable[[ReceivedRequest], Fault | None]


def count_tokens(text: str) -> int:
    """Estimates tokens at 4 characters each, rounded up.

    >>> count_tokens("The pier")
    2
    """
    return -(-len(text) // 4)


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts)


Verdicts = Mapping[str, Sequence[Verdict]]
FACTUAL, NOT_FACTUAL = "Factual", "Not Factual"
_STAGES = ("decompose", "verify", "categorize", "judge", "fused", "turn")
_CHOICE = re.compile(r'"(\w+)": "(\w+)" or "(\w+)"')
_WORD = re.compile(r"\w+")
_MARK = re.compile(r"^\s*(?:\[\d+\]|\d+\.)\s+")
_SENTENCE = re.compile(r"\S.*?[.!?](?=\s|$)|\S.*?$", re.DOTALL)


def judge_script(verdicts: Verdicts) -> Callable[[ReceivedRequest], str]:
    """Answers vista-guard's prompts (decompose, verify, categorize, judge, fused) from the verdicts on these turns.

    As an honest model it quotes what it judges by: `Verdict.quote`, else `Verdict.needs`, else the sentence of the evidence that
    shares most words with the claim. The stage is read off the name of the JSON schema (`vista_verify`, `verify`), else off the
    words of the prompt. The turn and the claims are found by their texts in the last user message; of claims with the same words
    the first verdict counts. `Verdict.needs` is looked for in what stands before the claim there. A verdict with an `error` is
    answered with that text, which says nothing about the claim, and in the stage judge with nothing.

    A request about a turn or a claim outside the script raises LookupError; the server then rejects the call.

    Examples:
        >>> from vista_guard import Guard
        >>> from vista_guard.testing import ScriptedChatServer, Verdict, assistant, conversation
        >>> talk = conversation(assistant("It is old.", "The pier is old."))
        >>> with ScriptedChatServer(judge_script({"It is old.": [Verdict("The pier is old.")]})) as server:
        ...     with Guard.from_settings(judge=f"openai:m@{server.base_url}", store="memory") as guard:
        ...         guard.check(talk).score
        1.0
    """
    claims: dict[str, Verdict] = {}
    for verdict in (verdict for turn_verdicts in verdicts.values() for verdict in turn_verdicts):
        claims.setdefault(_plain(verdict.text), verdict)
    return _Oracle({_plain(text): turn_verdicts for text, turn_verdicts in verdicts.items()}, claims).answer


def gold_script(
    gold: Mapping[str, Label], *, accuracy: float = 1.0, seed: int = 0, positive: Label = Label.LACKING_EVIDENCE
) -> Callable[[ReceivedRequest], str]:
    """Answers like a model that is right about this share of turns, so that a run must measure `accuracy`.

    It answers the stages as `judge_script` does, a claim for each sentence of the turn, the last of which makes the turn what it
    is; turns that are split into sentences; and `turn`, one verdict on a whole turn, whose two words it finds in the prompt, or
    Factual and Not Factual where these words alone are asked for.
    Which turns it is wrong about depends on `seed` and their texts alone, so that every system that asks it measures the same.

    Args:
        gold: labels by the turns' texts: VERIFIED, or another one for a turn to detect. No sentence may occur in two turns.
        accuracy: share of turns that it is right about, in [0, 1]; each turn is drawn independently.
        seed: random seed of the draw.
        positive: the label that it gives a VERIFIED turn by mistake.

    Examples:
        >>> from vista_guard.testing import ScriptedChatServer
        >>> gold = {"The tower is 38 metres high.": Label.VERIFIED, "It opened in 1890.": Label.LACKING_EVIDENCE}
        >>> server = ScriptedChatServer(gold_script(gold, accuracy=0.8))

    Raises:
        ValueError: accuracy is outside [0, 1], or a sentence occurs in two turns.
    """
    labels = {text: _scripted_label(label, positive, accuracy, seed, text) for text, label in gold.items()}
    claims = {text: _sentences(text, label) for text, label in labels.items()}
    ((twice, count),) = Counter(claim.text for parts in claims.values() for claim in parts).most_common(1) or [("", 0)]
    if count > 1:
        raise ValueError(f"the sentence {twice!r} stands in two turns; the script could not tell which is asked about")
    by_sentence = {claim.text: [claim] for parts in claims.values() for claim in parts}
    judge, turns = judge_script({**by_sentence, **claims}), {_plain(text): label for text, label in labels.items()}

    def answer(request: ReceivedRequest) -> str:
        if f"{FACTUAL} or {NOT_FACTUAL}" in request.text:
            return FACTUAL if turns[_last_turn(_plain(request.user), turns)] is Label.VERIFIED else NOT_FACTUAL
        return _whole_turn(request, turns) if _stage(request) == "turn" else judge(request)

    return answer


def _scripted_label(label: Label, positive: Label, accuracy: float, seed: int, text: str) -> Label:
    if not 0.0 <= accuracy <= 1.0:
        raise ValueError(f"accuracy is {accuracy}; it must lie in [0, 1]")
    is_right = random.Random(f"{seed}\x1f{text}").random() < accuracy
    return label if is_right else (positive if label is Label.VERIFIED else Label.VERIFIED)


def _sentences(text: str, label: Label) -> list[Verdict]:
    *before, last = [Verdict(match.group()) for match in _SENTENCE.finditer(text)]
    return [*before, replace(last, label=label)]


def _whole_turn(request: ReceivedRequest, labels: Mapping[str, Label]) -> str:
    """Answers with the prompt's first word for a turn labelled VERIFIED, else with its second."""
    choice = _CHOICE.search(request.text)
    if choice is None:
        raise LookupError(f"the prompt about a turn names no two words to choose from: {request.text[-200:]!r}")
    name, negative, positive = choice.groups()
    label = labels[_last_turn(_plain(request.user), labels)]
    return _json(**{name: negative if label is Label.VERIFIED else positive}, explanation=f"scripted as {label}")


def _last_turn(message: str, turns: Iterable[str]) -> str:
    """The last scripted turn in the message: earlier ones may be history."""
    ends = {text: message.rfind(text) + len(text) for text in turns if text in message}
    if not ends:
        raise LookupError(f"no scripted turn stands in the user message, which ends {message[-200:]!r}")
    return max(ends, key=lambda text: (ends[text], len(text)))


@dataclass(frozen=True)
class _Claim:
    verdict: Verdict
    id: str
    before: str
    shown: Sequence[str] = ()

    @property
    def label(self) -> Label:
        verdict = self.verdict
        if verdict.needs is None:
            return verdict.label
        if _plain(verdict.needs) in self.before:
            return Label.VERIFIED
        return Label.LACKING_EVIDENCE if verdict.label is Label.VERIFIED else verdict.label

    @property
    def quote(self) -> str:
        """The words that decide the claim; "" for labels that need none."""
        if self.verdict.quote is not None or self.label not in (Label.VERIFIED, Label.CONTRADICTED):
            return self.verdict.quote or ""
        if self.verdict.needs is not None and self.label is Label.VERIFIED:
            return self.verdict.needs
        wanted = set(_WORD.findall(self.verdict.text.lower()))
        return max(self.shown, key=lambda text: len(wanted & set(_WORD.findall(text.lower()))), default="")

    def judgement(self) -> dict[str, str]:
        label = self.label
        reason = "" if label is Label.VERIFIED else f"scripted as {label}"
        return {"reason": reason, "quote": self.quote, "label": self.verdict.error or label}


@dataclass(frozen=True)
class _Oracle:
    verdicts: Verdicts
    claims: Mapping[str, Verdict]

    def answer(self, request: ReceivedRequest) -> str:
        message, stage, shown = _plain(request.user), _stage(request), _shown(request.user)
        match stage:
            case "decompose":
                turn = _last_turn(message, self.verdicts)
                return _json(claims=[_claim_in(turn, verdict) for verdict in self.verdicts[turn]])
            case "fused":
                return self._fused(message, shown)
            case "judge":
                claims = [claim for claim in self._claims(message, shown) if claim.verdict.error is None]
                return _json(answers=[{"id": claim.id, **claim.judgement()} for claim in claims])
            case "verify":
                claim = self._claims(message, shown)[-1]
                label = "VERIFIED" if claim.label is Label.VERIFIED else "UNVERIFIABLE"
                return claim.verdict.error or _json(quote=claim.quote, label=label)
        claim = self._claims(message, shown)[-1]
        label = Label.LACKING_EVIDENCE if claim.label is Label.VERIFIED else claim.label
        judgement = {"reason": f"scripted as {label}", "quote": claim.quote, "label": label}
        return claim.verdict.error or _json(**judgement)

    def _fused(self, message: str, shown: Sequence[str]) -> str:
        turn = _last_turn(message, self.verdicts)
        before = message[: message.rindex(turn)]
        claims = []
        for verdict in self.verdicts[turn]:
            judgement = _Claim(verdict, "", before, shown).judgement()
            fields = {"reason": judgement["reason"], "evidence": judgement["quote"], "label": judgement["label"]}
            claims.append({**_claim_in(turn, verdict), **fields})
        return _json(claims=claims)

    def _claims(self, message: str, shown: Sequence[str]) -> list[_Claim]:
        """Finds the scripted claims, each at its last place, in order; only those with an id if any has one."""
        present = sorted((text for text in self.claims if text in message), key=len, reverse=True)
        if not present:
            raise LookupError(f"no scripted claim stands in the user message, which ends {message[-200:]!r}")
        # The longest first: a claim may begin with the words of another.
        last = {match[0]: match.start() for match in re.finditer("|".join(map(re.escape, present)), message)}
        placed = [(start, self.claims[text]) for text, start in sorted(last.items(), key=lambda place: place[1])]
        ids = [_id_before(message, start) for start, _ in placed]
        first = next((start for (start, _), claim_id in zip(placed, ids, strict=True) if claim_id), placed[0][0])
        return [
            _Claim(verdict, claim_id or f"c{number}", message[: first if claim_id else start], shown)
            for number, ((start, verdict), claim_id) in enumerate(zip(placed, ids, strict=True), 1)
            if claim_id or not any(ids)
        ]


def _id_before(message: str, start: int) -> str | None:
    """Returns the `c3` that announces the claim here: `c3: …`, `[c3] …`, `<claim id="c3">…`."""
    match = re.search(r"(?<!\w)(c\d+)[^\w.?!]{1,12}$", message[max(0, start - 20) : start])
    return match[1] if match else None


def _claim_in(turn: str, verdict: Verdict) -> dict[str, str]:
    return {"claim": verdict.text, "quote": verdict.text if _plain(verdict.text) in turn else ""}


def _stage(request: ReceivedRequest) -> str:
    name = (request.schema_name or "").removeprefix("vista_")
    if name in _STAGES:
        return name
    text = request.text
    if '"explanation"' in text:
        return "turn"
    if '"answers"' in text:
        return "judge"
    if '"claims"' in text:
        return "fused" if '"label"' in text else "decompose"
    if "UNVERIFIABLE" in text.upper():
        return "verify"
    return "categorize" if "CONTRADICTED" in text.upper() else "decompose"


def _shown(message: str) -> list[str]:
    """The sentences of a prompt's evidence, without its tags and numbers."""
    before = re.split(r"<(?:claims?|turn)>", message, maxsplit=1)[0]
    lines = [_MARK.sub("", html.unescape(line)) for line in before.split("\n") if not line.startswith("<")]
    return [match.group() for line in lines for match in _SENTENCE.finditer(line)]


def _plain(text: str) -> str:
    return " ".join(html.unescape(text).split())


def _json(**content: Any) -> str:
    return json.dumps(content)
