"""Reads a chat model's answers (VISTA, App. A; decomposers': DAD, K.1). An answer may be anything and is never trusted.

An unreadable or ambiguous answer raises `UnreadableError` and gives no label. Words repeated from a document, the knowledge,
the turn or a claim set no label: they can leave a claim unjudged, but never make it VERIFIED.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vista_guard.errors import UnreadableError
from vista_guard.judges.model.answers.labels import (
    Mention,
    Said,
    Untrusted,
    deciding_mention,
    declared_label,
    items,
    mentions,
    says_none,
)
from vista_guard.judges.model.answers.tolerant import (
    CLAIM_KEYS,
    LABEL_KEYS,
    RAW_CHARS,
    JsonPiece,
    ReadableAnswer,
    clean,
    read,
    text_field,
    unreadable,
)
from vista_guard.types import Label

_DEEPEST = 4
_WORDS = ("quote", "reason", "evidence", "explanation", "claim", "text")
"""Text fields: whatever a model puts there, even an object, sets no label."""


def labelled_objects(value: object, known: dict[str, str] | None = None, depth: int = 0) -> Iterator[dict[str, object]]:
    """The objects with a label, inside lists and objects; also `{"c1": "VERIFIED"}` and `{"c1": {"label": ...}}`."""
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for item in value:
            yield from labelled_objects(item, known, depth + 1)
    elif isinstance(value, dict):
        if any(not isinstance(value[key], (dict, list)) for key in LABEL_KEYS if key in value):
            yield value
            return
        for key, item in value.items():
            answers_it = isinstance(item, str) or (isinstance(item, dict) and "id" not in item)
            if known and (key in known or (answers_it and name_of(key).isdecimal())):
                yield {**item, "id": key} if isinstance(item, dict) else {"label": item, "id": key}
            elif key not in _WORDS:
                yield from labelled_objects(item, known, depth + 1)


_NAME = re.compile(r"[#(\[]?(?:claim[\W_]{0,4})?(c?\d{1,4})[.:)\]]?")


def name_of(identity: object) -> str:
    """A claim's id without case, marks and the word "claim": "1" for 1, "#1" and "Claim 1:"."""
    name = (str(identity) if type(identity) is int else text_field(identity)).casefold()
    match = _NAME.fullmatch(name)
    return match[1] if match else name


def label_of(entry: dict[str, object]) -> Said | None:
    """An entry's label; None if it has none, or two fields that differ."""
    labels = {declared_label(entry[key]) for key in LABEL_KEYS if key in entry}
    return labels.pop() if len(labels) == 1 else None


def claims_of(value: object, *, bare: bool) -> list[object] | None:
    """The claims of a JSON answer: of `{"claims": [...]}`, of a list of objects or of one object; None for other shapes."""
    if isinstance(value, dict):
        if "claims" in value:
            claims = value["claims"]
            return claims if isinstance(claims, list) else None
        return [value] if any(key in value for key in CLAIM_KEYS) else None
    if isinstance(value, list):
        texts = bare and bool(value) and all(isinstance(entry, str) for entry in value)
        return (
            value if texts or any(isinstance(entry, dict) and claims_of(entry, bare=False) for entry in value) else None
        )
    return None


@dataclass(frozen=True)
class ClaimText:
    """A claim, and the words of the turn that the model quotes for it."""

    text: str
    quote: str | None


@dataclass(frozen=True)
class ParsedCategory:
    """A label, its reason ("" if not given), and the deciding words of the evidence."""

    label: Label
    reason: str
    quote: str | None


@dataclass(frozen=True)
class FusedClaim(ClaimText):
    """A claim with its label. The category's quote are words of a source."""

    category: ParsedCategory


@dataclass(frozen=True)
class Fused:
    """The claims of a turn. Not `complete` if the answer was truncated or had unreadable entries."""

    claims: list[FusedClaim]
    complete: bool


def read_claims(text: str) -> list[ClaimText]:
    """The claims of a turn, from JSON or a numbered list; none only if the answer says so.

    Raises:
        UnreadableError: neither, or an entry that is no claim or was cut off: a claim would be missing.
    """
    answer = read(text)
    if says_none(answer.text.strip()):
        return []
    claims: dict[str, ClaimText] = {}
    shaped = False
    for piece in answer.pieces:
        entries = claims_of(piece.value, bare=not answer.prose.strip("` \njsonJSON"))
        if entries is None and piece.whole:
            continue
        cut = not piece.closed or (not piece.whole and piece is answer.pieces[-1] and "{" in answer.text[piece.end :])
        if entries is None or cut:
            raise unreadable("breaks off inside a claim, or holds one that cannot be read", text)
        shaped = True
        for entry in entries:
            claim = _read_claim(entry)
            if claim is None:
                raise unreadable(f"holds an entry that is no claim ({str(entry)[:40]!r})", text)
            if claim.text:
                claims.setdefault(claim.text, claim)
    if shaped:
        return list(claims.values())
    if answer.pieces:
        raise unreadable("is JSON without claims", text)
    listed_items = items(answer.text)
    if not listed_items:
        raise unreadable("is neither JSON nor a list of claims", text)
    if len(listed_items) == 1 and says_none(listed_items[0]):
        return []
    return [ClaimText(item, None) for item in dict.fromkeys(listed_items)]


def read_parts(text: str) -> list[str]:
    """The two parts of a split statement; none if the answer says that it cannot be split.

    Raises:
        UnreadableError: no list of claims, or one of more than two.
    """
    parts = [claim.text for claim in read_claims(text)]
    if len(parts) > 2:
        raise unreadable(f"has {len(parts)} parts, not two", text)
    return parts if len(parts) == 2 else []


def read_rewritten(text: str) -> str:
    """The sentence of `{"reason": ..., "sentence": ...}`; "" if the answer has none.

    Raises:
        UnreadableError: no such object, or several with different sentences.
    """
    objects = [piece.value for piece in read(text).pieces if isinstance(piece.value, dict) and piece.closed]
    sentences = {entry["sentence"] for entry in objects if isinstance(entry.get("sentence"), str)}
    if len(sentences) != 1:
        raise unreadable("has no single sentence", text)
    sentence = text_field(sentences.pop())
    return "" if says_none(sentence) or not any(map(str.isalnum, sentence)) else sentence


_LIST_MARK = re.compile(r"(?:[-*•]|\d{1,2}[.)])\s+")


def read_lines(text: str) -> list[str]:
    """The claims of an answer, one per line; none if any line says "No verifiable claim.", as in VeriScore's code.

    Raises:
        UnreadableError: nothing but thoughts and notes.
    """
    lines = [_LIST_MARK.sub("", line.strip(), count=1) for line in read(text).text.split("\n")]
    claims = [line for line in lines if any(map(str.isalnum, line)) and not line.startswith("Note:")]
    if any("no verifiable claim" in line.casefold() for line in claims):
        return []
    if not claims:
        raise unreadable("has no line with a claim", text)
    return list(dict.fromkeys(claims))


def read_verdict(text: str, untrusted: Sequence[str]) -> ParsedCategory:
    """Reads a verdict: VERIFIED is supported. Every other label is LACKING_EVIDENCE here: the claim gets its own later.

    Args:
        untrusted: the texts in the prompt: evidence, history and the claim.

    Raises:
        UnreadableError: no label, more than one, or only labels that occur in `untrusted`.
    """
    winner = _winner(text, read(text), Untrusted(untrusted))
    label = Label.VERIFIED if winner.said is Label.VERIFIED else Label.LACKING_EVIDENCE
    return ParsedCategory(label, "", text_field(winner.entry.get("quote")) or None)


def read_category(text: str, untrusted: Sequence[str]) -> ParsedCategory:
    """The category of an unverified claim.

    Raises:
        UnreadableError: as `read_verdict`; also for VERIFIED and UNVERIFIABLE, which are no categories.
    """
    answer = read(text)
    winner = _winner(text, answer, Untrusted(untrusted))
    if not isinstance(winner.said, Label) or winner.said is Label.VERIFIED:
        raise unreadable(f"says {winner.said}, which is none of the four categories", text)
    if winner.entry:
        return _category(winner.said, winner.entry)
    return ParsedCategory(winner.said, _reason_after(answer.prose, winner), None)


def read_judgements(text: str, ids: Sequence[str], untrusted: Sequence[str]) -> dict[str, ParsedCategory]:
    """The labels of many claims, by id; without the ids that have no readable or no single answer.

    Claim c1 is also called 1, "1" or "claim 1", unless one of these numbers is no claim's: the answer then counts otherwise.
    """
    try:
        answer = read(text)
    except UnreadableError:
        return {}
    sources = Untrusted(untrusted)
    known = {identity.casefold(): identity for identity in ids}
    numbers = {name.removeprefix("c"): identity for name, identity in known.items()}
    answers = list(_answers(answer, known, sources))
    if all(piece.value is not None for piece in answer.pieces) and {name for name, _, _ in answers} <= {
        *known,
        *numbers,
    }:
        known |= numbers
    labels: dict[str, set[Said | None]] = {}
    categories: dict[str, ParsedCategory] = {}
    for name, label, entry in answers:
        if name not in known:
            continue
        labels.setdefault(known[name], set()).add(label)
        if isinstance(label, Label):
            categories.setdefault(known[name], _category(label, entry))
    return {name: categories[name] for name in ids if name in categories and len(labels[name]) == 1}


def read_fused(text: str, untrusted: Sequence[str]) -> Fused:
    """The claims of a turn with their labels, from JSON.

    Raises:
        UnreadableError: no claim can be read, and the answer does not say that there is none.
    """
    answer = read(text)
    sources = Untrusted(untrusted)
    claims: dict[str, FusedClaim] = {}
    complete, shaped = True, False
    for piece in answer.pieces:
        entries = claims_of(piece.value, bare=False)
        if entries is None and piece.whole:
            continue
        if sources.hold(answer.text[piece.start : piece.end]):
            continue
        if entries is None or not piece.closed:
            complete = False
            continue
        shaped = True
        for entry in entries:
            claim = _read_fused(entry)
            complete &= claim is not None and claims.get(claim.text, claim) == claim
            if claim is not None:
                claims.setdefault(claim.text, claim)
        # Repaired JSON does not show how many entries there should be.
        complete &= piece.whole or answer.text.rstrip("` \n")[-1:] in ("]", "}")
    if not claims and not (shaped and complete):
        raise unreadable("holds no claim with a label", text)
    return Fused(list(claims.values()), complete)


def _winner(text: str, answer: ReadableAnswer, untrusted: Untrusted) -> Mention:
    ranked = sorted([*mentions(answer.prose), *_label_mentions(answer, untrusted)], key=lambda mention: mention.start)
    winner = deciding_mention(answer.text, ranked, untrusted, answer.breaks)
    if winner is None:
        raise unreadable("gives no label of its own" if not ranked else "gives no single label of its own", text)
    return winner


def _label_mentions(answer: ReadableAnswer, untrusted: Untrusted) -> Iterator[Mention]:
    """The label in the JSON answer about one claim. Only label fields are read: quotes elsewhere set no label."""
    for pieces in _one_after_another(answer, untrusted):
        found = [(piece, entries) for piece, entries in pieces if entries or not piece.whole]
        labels = {label_of(entry) for _, entries in found for entry in entries}
        for piece, entries in found:
            cut = not piece.closed and answer.text[piece.end - 1].isalnum()
            single = next(iter(labels)) if len(labels) == 1 and entries and not cut else None
            yield Mention(piece.start, piece.end, single, declared=True, entry=entries[-1] if entries else {})


def _one_after_another(
    answer: ReadableAnswer, untrusted: Untrusted
) -> Iterator[list[tuple[JsonPiece, list[dict[str, object]]]]]:
    """JSON values with their labelled objects, together where no word stands between them: a later one corrects none then."""
    together: list[tuple[JsonPiece, list[dict[str, object]]]] = []
    for piece in answer.pieces:
        if untrusted.hold(answer.text[piece.start : piece.end]):
            continue
        between = answer.text[together[-1][0].end : piece.start] if together else ""
        if piece.whole and any(map(str.isalnum, between)):
            yield together
            together = []
        together.append((piece, list(labelled_objects(piece.value))))
    yield together


def _answers(
    answer: ReadableAnswer, known: dict[str, str], untrusted: Untrusted
) -> Iterator[tuple[str, Said | None, dict[str, object]]]:
    """Every label of every claim, by its id as in `name_of`."""
    for piece in answer.pieces:
        if untrusted.hold(answer.text[piece.start : piece.end]):
            continue
        if piece.value is None:
            words = answer.text[piece.start : piece.end].casefold()
            yield from ((name, None, {}) for name in known if name in words)
        for entry in labelled_objects(piece.value, known):
            name = name_of(entry.get("id"))
            if name in known or name.isdecimal():
                yield name, label_of(entry) if piece.closed else None, entry
    if not answer.pieces:
        yield from _lines(answer, known, untrusted)


def _lines(
    answer: ReadableAnswer, known: dict[str, str], untrusted: Untrusted
) -> Iterator[tuple[str, Said | None, dict[str, object]]]:
    """Answers in prose, such as `c1: CONTRADICTED. The text says otherwise.`; each ends where the next id opens a line."""
    ids = "|".join(map(re.escape, known)) or "c1"
    mark = rf"(?:(?:claim|id)\W{{1,4}})?({ids}|[a-z]{{1,3}}\d{{1,4}})|claim\W{{1,4}}(\d{{1,4}})"
    head = re.compile(rf"^[^\w\n]{{0,20}}(?:{mark})(?!\w)", re.I | re.M)
    heads = list(head.finditer(answer.prose))
    for index, match in enumerate(heads):
        name = name_of(match[1] or match[2])
        end = heads[index + 1].start() if index + 1 < len(heads) else len(answer.prose)
        line = answer.prose[match.start() : end].split("\n", 1)[0]
        if not (name in known or name.isdecimal()) or untrusted.hold(line):
            continue
        text = answer.prose[match.end() : end]
        labels = mentions(text)
        if labels:
            # A line with a garbled id becomes part of the one above: then the labels differ.
            single = len({mention.said for mention in labels if mention.declared}) == 1
            winner = deciding_mention(text, labels, untrusted) if single else None
            yield name, winner.said if winner else None, {"reason": _reason_after(text, winner) if winner else ""}


def _reason_after(text: str, label: Mention) -> str:
    """The reason behind a label in prose; the whole text if the label is inside it."""
    reason = text[label.end if label.opens else 0 :].strip().lstrip("*_`\"'.:;,-–—|)] \n").rstrip("`|* \n")
    return " ".join(reason[:RAW_CHARS].split())


def _category(label: Label, entry: dict[str, object]) -> ParsedCategory:
    reason = text_field(entry.get("reason")) or text_field(entry.get("explanation"))
    return ParsedCategory(label, reason[:RAW_CHARS], text_field(entry.get("quote")) or None)


def _read_claim(entry: object) -> ClaimText | None:
    if isinstance(entry, str):
        return ClaimText(text_field(entry), None)
    if not isinstance(entry, dict):
        return None
    text, quote = _claim_field(entry), text_field(entry.get("quote"))
    if text is None or (quote and not text.strip()):
        return None
    return ClaimText(text_field(text), quote or None)


def _claim_field(entry: object) -> str | None:
    """The claim of an object such as {"claim": "..."}; None if it has none, or two."""
    texts = [entry[key] for key in CLAIM_KEYS if key in entry] if isinstance(entry, dict) else []
    return texts[0] if len(texts) == 1 and isinstance(texts[0], str) else None


def _read_fused(entry: object) -> FusedClaim | None:
    if not isinstance(entry, dict):
        return None
    claim, label = _read_claim(entry), label_of(entry)
    if claim is None or not claim.text or not isinstance(label, Label):
        return None
    category = ParsedCategory(
        label, text_field(entry.get("reason"))[:RAW_CHARS], text_field(entry.get("evidence")) or None
    )
    return FusedClaim(claim.text, claim.quote, category)


NO_CLAIM, NO_CONTEXT = STOP_PHRASES = ("No verifiable claim", "Cannot be decontextualized")
"""Phrases in place of a list: step 1 found no claim, step 2 could not decontextualize the sentence (K.1)."""

_OUTPUT = re.compile(r"<output>(.*?)(?:</output>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"\A(?:`{3,}|~{3,})[\w-]*\n?(.*?)\n?(?:`{3,}|~{3,})\Z", re.DOTALL)
_BETWEEN = re.compile(r"""(?<=[.!?])['"]\s*,\s*['"]""")
_QUOTED = re.compile(r"""\[\s*(['"])(.*[.!?])\1\s*,?\s*\]""", re.DOTALL)
_LONGEST = 50_000


@dataclass(frozen=True)
class Output:
    """The claims of an answer, or its stop phrase; neither for an empty list."""

    claims: tuple[str, ...] = ()
    stopped: str | None = None


def read_output(text: str) -> Output:
    """The claims of a decomposer's answer, each once.

    Raises:
        UnreadableError: no output, one that is neither a list nor a stop phrase, or a list with something else than texts.

    Examples:
        >>> read_output('<think>One fact.</think><output>["The hall seats 90."]</output>').claims
        ('The hall seats 90.',)
        >>> read_output("<think>An opinion.</think><output>No verifiable claim</output>").stopped
        'No verifiable claim'
    """
    answer = read(text).text
    outputs = _OUTPUT.findall(answer)
    body = (outputs[-1] if outputs else answer).strip()
    body = _FENCE.sub(r"\1", body).strip()
    if len(body) > _LONGEST:
        raise unreadable(f"has an output of {len(body)} characters", text)
    if stopped := stop_phrase(body):
        return Output(stopped=stopped)
    entries = _claim_list(body)
    if entries is None:
        raise unreadable("has no list of claims", text)
    claims = tuple(dict.fromkeys(claim for entry in entries if any(map(str.isalnum, claim := text_field(entry)))))
    if len(claims) == 1 and (stopped := stop_phrase(claims[0])):
        return Output(stopped=stopped)
    return Output(claims)


def stop_phrase(body: str) -> str | None:
    """The stop phrase that the text consists of, ignoring quotes and full stop; None for any other text."""
    bare = body.strip(" \n\"'.`*[]").casefold()
    return next((phrase for phrase in STOP_PHRASES if bare == phrase.casefold()), None)


def literal(body: str) -> object:
    """The value of a JSON or Python literal; ... for any other text."""
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(body)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return ...


def thoughts(text: str) -> str:
    """The words of an answer before its last output."""
    before = clean(text)[: max(clean(text).lower().rfind("<output>"), 0)]
    return re.sub(r"</?think>", "", before).strip()


def _claim_list(body: str) -> list[object] | None:
    value = literal(body)
    if value is ...:
        return _split_quoted(body) or list(items(body)) or None
    if isinstance(value, tuple):
        value = list(value)
    claims = value if value == [] else claims_of(value, bare=True)
    if claims is None:
        return None
    texts = [claim if isinstance(claim, str) else _claim_field(claim) for claim in claims]
    return None if None in texts else list(texts)


def _split_quoted(body: str) -> list[object] | None:
    """A list whose quotes are not escaped, as in ['Ford's mother sang.', 'She danced.']: each item is a sentence."""
    inside = _QUOTED.fullmatch(body)
    return list(_BETWEEN.split(inside[2])) if inside else None
