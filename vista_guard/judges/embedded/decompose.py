"""A turn's text to claims (VISTA §3, step 1, and the rules of its prompt in App. A.1), by rule and without a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from vista_guard.judges.embedded.clauses import clauses, has_verb, verb_index, words_of
from vista_guard.judges.embedded.phrases import (
    ANSWER,
    ASKED_IF_KNOWN,
    ELLIPTIC,
    EXCLAMATION,
    KNOWN,
    NOT_KNOWN,
    OPENER,
    QUESTION,
    REMARKED,
    SMALL_TALK,
    SUBJECTLESS,
    TAG,
)
from vista_guard.judges.embedded.segment import Sentence, plain, sentences, trimmed
from vista_guard.judges.embedded.speakers import name_speakers, names
from vista_guard.types import Claim, Role, Span, Turn

_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^)\s]{0,2000}(?:\s+\"[^\"]*\")?\)")
_NOTE = re.compile(r"\s*\[\^?\d+(?:\s*,\s*\d+)*\]")
_TAGS = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_EMPHASIS = re.compile(r"(\*{1,3}|_{1,3}|~~|`+)(?=\S)(.{1,300}?)(?<=\S)\1")
_PRE_TOKENISED = (
    (re.compile(r"\b(\w+) n't\b"), r"\1n't"),
    (re.compile(r" ('(?:s|ve|re|m|ll|d)\b)"), r"\1"),
    (re.compile(r"\s+([,.!?;:])(?=\s|$)"), r"\1"),
)
"""Spaces that corpora and speech recognisers leave: "I do n't know ." """
_NO = re.compile(r"\b(?:no|nope|nah|not)\b|n't\b", re.IGNORECASE)
_OPEN_WORDS = frozenset(("what", "who", "why", "how", "where", "when", "if", "whether", "which", "about", "so"))


def decompose(turn: Turn, history: Sequence[Turn]) -> tuple[Claim, ...]:
    """The claims of `turn` in order of appearance, ids `t{turn index}.c1` on. Equal texts are one claim."""
    text = plain(turn.text)
    speaker, listener = names(turn.role)
    question = _open_question(history)
    found: dict[str, Span] = {}
    for sentence in sentences(text):
        for said, start, end in _statements(text, sentence, question):
            named = _finish(name_speakers(said, speaker, listener)) if re.search(r"[^\W_]", said) else ""
            if named:
                found.setdefault(named, trimmed(text, start, end))
    pairs = enumerate(found.items(), start=1)
    return tuple(Claim(id=f"t{len(history)}.c{number}", text=claim, span=span) for number, (claim, span) in pairs)


def clean(text: str) -> str:
    """`text` without Markdown, HTML tags and footnote marks, on one line, with spaces where prose has them."""
    text = _TAGS.sub(" ", _NOTE.sub("", _LINK.sub(r"\1", text)))
    text = _EMPHASIS.sub(r"\2", _EMPHASIS.sub(r"\2", text))
    text = re.sub(r"\s+", " ", text).strip()
    for pattern, replacement in _PRE_TOKENISED:
        text = pattern.sub(replacement, text)
    return text


def _statements(text: str, sentence: Sentence, question: str) -> Iterator[tuple[str, int, int]]:
    """What the sentence states: text in the speaker's own words, and where it stands."""
    start, end = sentence.start, sentence.end
    raw = clean(sentence.text or text[start:end])
    answer = ANSWER.match(raw)
    if sentence.text is not None:
        yield raw, start, end
    elif question and answer and _says_no_more(raw):
        yield _answered(question, raw), start, end
    elif SMALL_TALK.fullmatch(raw) or raw.endswith(":"):
        return
    elif sentence.lead and not _is_statement(raw):
        yield f"{clean(sentence.lead)}: {raw}", start, end
    else:
        yield from _clauses(text, start, end, question)


def _clauses(text: str, start: int, end: int, question: str) -> Iterator[tuple[str, int, int]]:
    for clause in clauses(text, start, end):
        said = clean(text[clause.start : clause.end])
        if clause.subject and SMALL_TALK.fullmatch(said):
            continue
        if question and ELLIPTIC.fullmatch(_without_opener(said).rstrip(".! ")):
            yield _answered(question, said), clause.start, clause.end
            continue
        for statement in _claims_of(f"{clean(clause.subject)} {said}" if clause.subject else said):
            yield statement, clause.start, clause.end


def _claims_of(said: str) -> Iterator[str]:
    """What a clause claims: nothing for a question, a presupposition for "I didn't know that ..."."""
    said = _without_opener(said)
    subjectless = SUBJECTLESS.match(said)
    if subjectless:
        yield from _with_subject(said, subjectless.end())
        return
    asked = ASKED_IF_KNOWN.match(said)
    if asked and _is_statement(said[asked.end() :]):
        yield said[asked.end() :].rstrip("? ")
        return
    tag = TAG.search(said)
    if tag:
        said = said[: tag.start()]
    elif _is_question(said):
        return
    if not (EXCLAMATION.match(said) or SMALL_TALK.fullmatch(said) or ELLIPTIC.fullmatch(said.rstrip(".! "))):
        yield from _unframed(said)


def _unframed(said: str) -> Iterator[str]:
    """The fact behind "I know that ..."; both the fact and the remark for what takes it for granted."""
    frame = KNOWN.match(said)
    if frame and _is_statement(said[frame.end() :]):
        yield from _claims_of(said[frame.end() :])
        return
    remark = NOT_KNOWN.match(said) or REMARKED.match(said)
    if remark and _is_statement(said[remark.end() :]):
        yield said[remark.end() :]
    yield said


def _with_subject(said: str, after: int) -> Iterator[str]:
    """ "Not sure, it may be 1925": the "I" put back, and what follows the comma by itself."""
    comma = said.find(",", after)
    head, rest = (said, "") if comma < 0 else (said[:comma], said[comma + 1 :].strip())
    lower = head[0].lower() + head[1:]
    if lower.startswith("dunno"):
        lower = f"don't know{lower[5:]}"
    verb = "am " if lower.startswith(("not", "unable")) else "have " if lower.startswith("no ") else ""
    yield f"I {verb}{lower}"
    if rest:
        yield from _claims_of(rest)


def _is_statement(text: str) -> bool:
    """Whether `text` has a subject and a verb of its own, so that it may stand alone."""
    words = words_of(text)
    if len(words) < 3 or words[0].lower() in _OPEN_WORDS:
        return False
    return verb_index(words) is not None or (words[0].lower() not in ("that", "it", "this") and has_verb(text))


def _is_question(text: str) -> bool:
    if text.rstrip("\"') ").endswith("?"):
        return True
    return QUESTION.match(text) is not None and not text.endswith(("!", "."))


def _says_no_more(text: str) -> bool:
    """Whether nothing but yes or no is said."""
    rest = _without_opener(text).rstrip(".! ")
    return not re.search(r"\w", rest) or bool(ELLIPTIC.fullmatch(rest) or ANSWER.fullmatch(rest))


def _answered(question: str, answer: str) -> str:
    """What "No, it isn't" claims. The question is quoted: turning it round would need a parser."""
    return f'The answer to "{question}" is {"no" if _NO.search(answer) else "yes"}'


def _open_question(history: Sequence[Turn]) -> str:
    """The last yes-or-no question of the user's turn just before. "What ...?" is none."""
    if not history or history[-1].role is not Role.USER:
        return ""
    asked = re.split(r"(?<=[.!?])\s+", clean(plain(history[-1].text)[-400:]))
    open_ones = [one for one in asked if one.endswith("?") and one.split(" ", 1)[0].lower() not in _OPEN_WORDS]
    return name_speakers(open_ones[-1], *names(Role.USER)) if open_ones else ""


def _without_opener(text: str) -> str:
    match = OPENER.match(text)
    while match and re.search(r"\w", text[match.end() :]):
        text = text[match.end() :]
        match = OPENER.match(text)
    return text


def _finish(text: str) -> str:
    text = text.strip().strip("\"'“”").strip(" ,;:-–—")
    if not text:
        return ""
    text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?…。！？" else f"{text}."
