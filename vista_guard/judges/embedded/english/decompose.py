"""A turn's text to claims (VISTA §3, step 1, and the rules of its prompt in App. A.1), by rule and without a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from vista_guard.judges.embedded.english.answers import answered, expected, open_question, without_opener
from vista_guard.judges.embedded.english.clauses import clauses
from vista_guard.judges.embedded.english.lists import each
from vista_guard.judges.embedded.english.phrases import (
    ANSWER,
    ASKED_IF_KNOWN,
    ELLIPTIC,
    EXCLAMATION,
    KNOWN,
    NOT_KNOWN,
    QUESTION,
    REMARKED,
    SMALL_TALK,
    SUBJECTLESS,
    TAG,
)
from vista_guard.judges.embedded.english.pronouns import NOTHING, Topic, resolved, topic_of, topic_of_turn
from vista_guard.judges.embedded.english.segment import Sentence, plain, sentences, trimmed
from vista_guard.judges.embedded.english.speakers import name_speakers, names
from vista_guard.judges.embedded.english.verbs import has_verb, verb_index, words_of
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
_MAX_BEFORE = 1000
"""How much of the turn before is read, in characters from its end."""
_ABOUT = re.compile(r"(?:\w+ ){1,3}about\b")
_INFERRED = re.compile(
    r"(?:i|you|he|she|it|they|we|that|this|there) (?:must|surely|probably|definitely) ", re.IGNORECASE
)
_LIST_MARK = re.compile(r"\s*\(?\d{1,3}[.)]\s*")
"""What numbers the items of a list that stands in one line."""
_OPEN_WORDS = frozenset(("what", "who", "why", "how", "where", "when", "if", "whether", "which", "about", "so"))


def decompose(turn: Turn, history: Sequence[Turn]) -> tuple[Claim, ...]:
    """The claims of `turn` in order of appearance, ids `t{turn index}.c1` on. Equal texts are one claim."""
    text = plain(turn.text)
    speaker, listener = names(turn.role)
    before = clean(plain(history[-1].text[-_MAX_BEFORE:])) if history else ""
    question = open_question(before) if before and history[-1].role is Role.USER else ""
    found: dict[str, Span] = {}
    for said, start, end in _resolved_statements(text, question, topic_of_turn(before)):
        says = re.search(r"[^\W_]", said) and not _LIST_MARK.fullmatch(said)
        named = _finish(name_speakers(said, speaker, listener)) if says else ""
        if named:
            found.setdefault(named, trimmed(text, start, end))
    pairs = enumerate(found.items(), start=1)
    return tuple(Claim(id=f"t{len(history)}.c{number}", text=claim, span=span) for number, (claim, span) in pairs)


def _resolved_statements(text: str, question: str, topic: Topic) -> Iterator[tuple[str, int, int]]:
    """The statements of a turn; each tells what a pronoun that opens the next can mean."""
    for sentence in sentences(text):
        topics = []
        for said, start, end in _statements(text, sentence, question):
            clear, after = resolved(said, topic)
            # What answers the question leaves its topic: "Do you know Vale?" "Yes. He ..."
            topic = topic if said.startswith(("the assistant", "the user")) else after
            topics.append(topic)
            yield clear, start, end
        if topics:
            topic = topics[0] if all(one == topics[0] for one in topics) else NOTHING
            continue
        raw = clean(text[sentence.start : sentence.end])
        if raw and not SMALL_TALK.fullmatch(raw):
            topic = topic_of(raw)


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
        yield answered(question, raw, Role.USER), start, end
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
        if question and ELLIPTIC.fullmatch(without_opener(said).rstrip(".! ")):
            yield answered(question, said, Role.USER), clause.start, clause.end
            continue
        for statement in _claims_of(f"{clean(clause.subject)} {said}" if clause.subject else said):
            yield statement, clause.start, clause.end


def _claims_of(said: str) -> Iterator[str]:
    """What a clause claims: nothing for a question, a presupposition for "I didn't know that ..."."""
    said = without_opener(said)
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
    elif _INFERRED.match(said):
        said = said.rstrip("? ")
    elif _is_question(said):
        supposed = expected(said)
        if supposed:
            yield supposed
        return
    if not (EXCLAMATION.match(said) or SMALL_TALK.fullmatch(said) or ELLIPTIC.fullmatch(said.rstrip(".! "))):
        yield from _without_frames(said)


def _without_frames(said: str) -> Iterator[str]:
    """The fact behind "I know that ..."; both the fact and the remark for what takes it for granted."""
    frame = KNOWN.match(said)
    # "I know some about mills, like how ..." has no fact of its own behind "know".
    if frame and _is_statement(said[frame.end() :]) and not _ABOUT.match(said[frame.end() :]):
        yield from _claims_of(said[frame.end() :])
        return
    remark = NOT_KNOWN.match(said) or REMARKED.match(said)
    if remark and _is_fact(said[remark.end() :], after=remark.group()):
        yield from each(said[remark.end() :])
    yield from each(said)


def _is_fact(text: str, after: str) -> bool:
    """Whether a remark's `text` stands alone: after "that" it does, whether or not its verb is a known one."""
    words = words_of(text)
    told = after.lower().endswith("that ") and len(words) > 2 and words[0].lower() not in _OPEN_WORDS
    return told or _is_statement(text)


def _with_subject(said: str, after: int) -> Iterator[str]:
    """ "Not sure, it may be 1925": the "I" put back, and what follows the comma by itself."""
    comma = said.find(",", after)
    head, rest = (said, "") if comma < 0 else (said[:comma], said[comma + 1 :].strip())
    lower = head[0].lower() + head[1:]
    if lower.startswith("dunno"):
        lower = f"don't know{lower[5:]}"
    verb = "am " if lower.startswith(("not", "unable", "glad")) else "have " if lower.startswith("no ") else ""
    yield from _without_frames(f"I {verb}{lower}")
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
        # "So you must live in Oslo?" states what it asks about.
        return not _INFERRED.match(text)
    return QUESTION.match(text) is not None and not text.endswith(("!", "."))


def _says_no_more(text: str) -> bool:
    """Whether nothing but yes or no is said."""
    rest = without_opener(text).rstrip(".! ")
    return not re.search(r"\w", rest) or bool(ELLIPTIC.fullmatch(rest) or ANSWER.fullmatch(rest))


def _finish(text: str) -> str:
    text = text.strip().strip("\"'“”").strip(" ,;:-–—")
    if not text:
        return ""
    text = text[0].upper() + text[1:]
    return text if text[-1] in ".!?…。！？" else f"{text}."
