"""Decomposes a turn into claims by rules, without a model (VISTA §3, step 1, and the prompt in App. A.1)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from vista_guard.judges.embedded.english.answers import (
    LABEL,
    UNMADE,
    asked_before,
    claims_of_values,
    is_plain,
    read_reply,
)
from vista_guard.judges.embedded.english.asides import (
    FIGURE,
    LONG_FIGURE,
    inner_statements,
    presuppositions,
    states,
)
from vista_guard.judges.embedded.english.clauses import clauses
from vista_guard.judges.embedded.english.cues import PREPOSITIONS, takes_stance
from vista_guard.judges.embedded.english.questions import Asked, asked_in, supposed_in, value_question
from vista_guard.judges.embedded.english.segment import Sentence, each, sentences
from vista_guard.judges.embedded.english.speakers import (
    NOTHING,
    PronounTopic,
    name_speakers,
    names,
    resolve_pronoun,
    topic_of,
    topic_of_turn,
    without_opener,
    written_names,
)
from vista_guard.judges.embedded.english.verbs import (
    ends_with_verb,
    finish_sentence,
    has_verb,
    is_opening,
    verb_index,
    words_of,
)
from vista_guard.judges.embedded.english.words import (
    CATAPHORIC,
    DETERMINERS,
    ELLIPTIC,
    EXCLAMATION,
    INVITATION,
    KNOWN,
    NOT_KNOWN,
    QUESTION,
    REMARKED,
    SMALL_TALK,
    SUBJECTLESS,
    SUBORDINATORS,
    TAG,
    is_auxiliary,
    is_past,
    is_verb,
    word_set,
)
from vista_guard.judges.embedded.forms import SYMBOLS, BlockKind, clean, fence, inline_code, is_said, render, says
from vista_guard.reading.canonical import Reading, canonical, folded
from vista_guard.types import Claim, Role, Span, Turn, UncheckedClaim

MAX_STATEMENT = 2000
"""Longest sentence, in characters: a longer one is not a single statement. It becomes one claim that is not judged."""
_MAX_BEFORE = 1000
"""Characters of the previous turn to read, from its end."""
_REMEMBERED, _REMEMBERED_CHARS = 8192, 500
"""Cached readings, and the longest sentence to cache: a turn being written is read again with each sentence."""
_ABOUT = re.compile(r"(?:\w+ ){1,3}about\b")
_READERS = re.compile(r"\b(?:I|[Mm]y|me)\b")
_QUESTION_MARK = re.compile(r"\AQ\d{0,2}[:.)]\s+")
"""In front of a question and its answer: "Q: Is it open? A: Yes." """
_INFERRED = re.compile(
    r"(?:i|you|he|she|it|they|we|that|this|there) (?:must|surely|probably|definitely) ", re.IGNORECASE
)
_LIST_MARK = re.compile(r"\s*\(?\d{1,3}[.)]\s*")
"""An item's number in a list on one line."""
_LISTENER = word_set("""you you're you've you'd i i'm we your my so that this these those""")
_BEFORE_QUESTION = re.compile(
    r",?\s(?:and|but|so|or)\s(?=(?:what|who|how|why|where|when|which|would|do|does|did|shall|can|could|are|is|will|should|have)\b)",
    re.IGNORECASE,
)
_ANNOUNCES = re.compile(r"(?:here|these|below|there|the following|some)\b", re.IGNORECASE)
_OPEN_ENDS = word_set(
    """to of in at for with by from on as about into than and or a an the its their his her following these those this
    that including such"""
)
"""Words that need a continuation: a lead that ends with one says nothing by itself."""
_VALUE = re.compile(
    r"[£$€]\s?\d|\d\s?(?:%|€|£|°|(?:euros?|dollars?|pounds?|pence|cents?|percent|kg|km|GB|MB|ml|mg|hours?|minutes?|a\.?m|p\.?m)\b)"
    r"|\b\d{1,2}:\d\d\b"
)
"""A price, share, time or measure, which makes a heading a claim ("Check-in from 15:00")."""
_TITLED_VALUE = re.compile(r"[^:\d]*\w\s?:\s+(?:[£$€~≈<>≤≥]\s?)?\d[\d.,]*(?:\s?[^\s\d:]+){0,3}\W*")
"""A name with its value, which makes a heading a claim ("Max pressure: 17 bar"), but not "Step 2: ..." """
_SETTING = re.compile(
    r"(?:in|at|on|from|for|during|after|before|until|since) (?:(?!me\b|my\b|your?\b)[\w'-]+ ){1,4}?"
    r"(?=(?:we|they|it|he|she|the)\b)",
    re.IGNORECASE,
)
"""When or where a statement holds, in front of its subject: "At weekends we close at 6 p.m." """
_HOUSE = re.compile(r"(?P<they>we\b|you(?= (?:can|may|must)(?:not|'t)?\b))|your\b", re.IGNORECASE)
"""Who answers for a house, and its guest: what "we" do there and what "you" may do is a fact as what "they" do."""
_MOST_WORDS = 16
"""Longest sentence, in words, of which a value can be the point."""
_FEW_WORDS = 4
"""Most words around a value that are none but the way to say it: "Make it ..., please"."""
_FOR_A_THING = re.compile(
    r"\b(?:what|which|who|whose|where|when|how (?:many|much|long|old|far|often))\b[^?]*\?\s*$", re.IGNORECASE
)
"""A question that a few words answer."""
_SOME_VALUE = "9"
"""Stands for what a question asks for, where only its subject matters."""
_OPEN_WORDS = word_set("""what who why how where when if whether which about so""")


def decompose(turn: Turn, history: Sequence[Turn], *, more: bool = False) -> tuple[Claim, ...]:
    """The claims of `turn` in order of appearance, ids `t{turn index}.c1` on. Equal texts are one claim.

    `more`: the turn goes on, so that its last line may be a heading or lead in to what follows.
    A block of code is one claim, in its fence: the judge marks it as unjudged code.
    """
    reading = render(canonical(turn.text))
    speaker, listener = names(turn.role)
    before = clean(folded(history[-1].text[-_MAX_BEFORE:])) if history else ""
    question = before if history and history[-1].role is Role.USER else ""
    questions = _Questions(asked_before(history), value_question(question))
    topic = topic_of_turn(before)
    if not topic.noun and len(questions.asked) == 1:
        topic = topic_of(questions.asked[0].said or questions.asked[0].filled(_SOME_VALUE))
    asked = _FOR_A_THING.search(question)
    fixed_names = written_names(reading.text)
    codes = frozenset(code.split(" ", 1)[0] for code in inline_code(reading.text))
    spans: dict[str, Span] = {}
    outside: set[str] = set()
    seen: set[tuple[str, int]] = set()
    unmade = set[str]()
    for found, kind in _resolved_statements(reading.text, questions, topic, more=more, asked=asked[0] if asked else ""):
        statement, start, end = found.text, found.start, found.end
        span = trimmed_span(reading, start, end)
        if found.unmade:
            unmade.add(statement)
            outside.add(statement)
            spans.setdefault(statement, span)
            continue
        says_something = re.search(r"[^\W_]", statement) and not _LIST_MARK.fullmatch(statement)
        if kind is BlockKind.CODE or SYMBOLS.search(statement) or (says_something and len(statement) > MAX_STATEMENT):
            spans.setdefault(statement, span)
            outside.add(statement)
            continue
        claim = (
            finish_sentence(name_speakers(statement, speaker, listener, fixed_names), codes) if says_something else ""
        )
        # Equal words at the same place, up to their final mark, are one claim: a frame may give them twice.
        place = (claim.rstrip(".!?…"), span.start)
        if kind is not BlockKind.QUOTED:
            outside.add(claim)
        if claim and place not in seen:
            seen.add(place)
            spans.setdefault(claim, span)
    return _number_claims(spans, history, unmade, in_code=spans.keys() - outside)


def sentence_claims(turn: Turn, history: Sequence[Turn]) -> tuple[Claim, ...]:
    """The sentences, list items and table rows of a turn, each a claim: for languages without rules."""
    reading = render(canonical(turn.text))
    spans: dict[str, Span] = {}
    for sentence in sentences(reading.text):
        source = reading.text[sentence.start : sentence.end]
        text = fence(source) if sentence.kind is BlockKind.CODE else clean(sentence.text or source)
        if sentence.kind is not BlockKind.HEADER and re.search(r"[^\W_]", text):
            spans.setdefault(text, trimmed_span(reading, sentence.start, sentence.end))
    return _number_claims(spans, history)


def _number_claims(
    spans: Mapping[str, Span],
    history: Sequence[Turn],
    unmade: Collection[str] = (),
    *,
    in_code: Collection[str] = (),
) -> tuple[Claim, ...]:
    claims = (
        Claim(id=f"t{len(history)}.c{number}", text=text, span=span, in_code=text in in_code)
        for number, (text, span) in enumerate(spans.items(), start=1)
    )
    return tuple(UncheckedClaim(**dict(claim), error=UNMADE) if claim.text in unmade else claim for claim in claims)


def trimmed_span(reading: Reading, start: int, end: int) -> Span:
    """The range's span in the turn, without surrounding white space."""
    raw = reading.text[start:end]
    return reading.span(start + len(raw) - len(raw.lstrip()), start + len(raw.rstrip()))


class _Questions(NamedTuple):
    """Context that an answer may leave out: questions and statements just before it, and a question for a value."""

    asked: tuple[Asked, ...] = ()
    value: str = ""


class _Statement(NamedTuple):
    """A statement in its speaker's words, and its place. `unmade` if it needs a question that it cannot be joined with."""

    text: str
    start: int
    end: int
    unmade: bool = False
    replies: bool = False
    """True if it was made of a question."""


def _resolved_statements(
    text: str, questions: _Questions, topic: PronounTopic, *, more: bool, asked: str
) -> Iterator[tuple[_Statement, BlockKind]]:
    """The statements of a turn, with opening pronouns resolved by the statements before."""
    last_asked, alone = _Questions(), True
    seen: set[tuple[str, Sentence, _Questions, PronounTopic, bool]] = set()
    found = list(sentences(text, more=more, question=asked))
    in_turn = iter(_shared_out(text, found, questions.asked))
    for sentence in found:
        source, start = text[sentence.start : sentence.end], sentence.start
        mine = next(in_turn)
        if sentence.kind is BlockKind.CODE:
            yield _Statement(fence(source), start, sentence.end), sentence.kind
            continue
        if len(source) > MAX_STATEMENT:
            yield _Statement((sentence.text or source).strip(), start, sentence.end), sentence.kind
            topic, last_asked, alone = NOTHING, _Questions(), False
            continue
        current = _Questions(last_asked.asked or mine, last_asked.value or questions.value)
        key = (source, replace(sentence, start=0, end=len(source)), current, topic, alone or bool(last_asked.asked))
        read = _read if len(source) <= _REMEMBERED_CHARS else _read.__wrapped__
        statements, topic, last_asked = read(*key)
        alone = alone and all(statement.replies for statement in statements)
        # A repetition in the same context makes the same claims: repeated lines cost nothing.
        if key not in seen:
            seen.add(key)
            yield from (
                (one._replace(start=start + one.start, end=start + one.end), sentence.kind) for one in statements
            )


def _shared_out(text: str, found: Sequence[Sentence], asked: tuple[Asked, ...]) -> Iterator[tuple[Asked, ...]]:
    """The questions that each sentence may answer: all, or one each for as many answers in a row ("Yes. No.")."""
    said = [one for one in asked if one.said]
    plain = [
        number
        for number, sentence in enumerate(found)
        if len(said) > 1 and is_plain(clean(text[sentence.start : sentence.end]))
    ]
    order = dict(zip(plain, said, strict=False)) if len(plain) > 1 else {}
    return ((order[number],) if number in order else asked for number in range(len(found)))


@lru_cache(_REMEMBERED)
def _read(
    source: str, sentence: Sentence, questions: _Questions, topic: PronounTopic, alone: bool
) -> tuple[tuple[_Statement, ...], PronounTopic, _Questions]:
    """The statements of a sentence with their places, the topic for later pronouns, and the sentence's questions."""
    topics: list[PronounTopic] = []
    placed = []
    for statement in _statements(source, sentence, questions.asked, alone=alone):
        clear, after = resolve_pronoun(statement.text, topic)
        # An answer keeps the question's topic: "Do you know Vale?" "Yes. He ..."
        own = statement.text.startswith(("the assistant", "the user"))
        topics.append(topic := topic if own or statement.replies else after)
        placed.append(statement._replace(text=clear))
    raw = clean(source)
    # "Did it open in 1850? Yes." answers itself, as does "Which hall opened in 1850? The whale hall."
    question = _QUESTION_MARK.sub("", raw.strip("\"' "), count=1)
    # A row names what its figures belong to.
    value = "" if sentence.kind is BlockKind.ROW else questions.value
    answered = _with_values(placed, clean(sentence.text or source), len(source), value)
    asks = question.endswith("?")
    # "Can I bring a dog?" stands in an answer as its reader would ask it.
    asker = Role.USER if _READERS.search(question) else Role.ASSISTANT
    return (
        tuple(answered),
        _next_topic(raw, topic, topics),
        _Questions(asked_in(question, asker) if asks else (), value_question(question)),
    )


def _with_values(placed: list[_Statement], raw: str, end: int, question: str) -> list[_Statement]:
    """The statements, plus each value without its own subject as an answer to `question`."""
    for value, claim in claims_of_values(question, raw) if question else ():
        if len(words_of(raw)) > _MOST_WORDS or any(
            value.lower() in one.text.lower() and (one.replies or _states_itself(one.text, value, question))
            for one in placed
        ):
            continue
        # "Remember 21:40." adds nothing to the answer.
        placed = [
            one
            for one in placed
            for rest in [one.text.replace(value, "")]
            if rest == one.text or len(words_of(rest)) > _FEW_WORDS or re.search(r"\d", rest) or LABEL.match(one.text)
        ]
        placed.append(_Statement(claim, 0, end, replies=True))
    return placed


def _states_itself(statement: str, value: str, question: str) -> bool:
    """True if a statement with the value has its own subject and verb: "Marta Eide left in 1999", "a ticket costs 9 €".

    Also with most of the question's words. The value may be the subject or object if no stance is taken: "9 € is what I had
    in mind" only answers.
    """
    question_stems = {word[:4] for word in words_of(question.lower())[1:] if len(word) > 3 and not is_auxiliary(word)}
    if 2 * len(question_stems & {word[:4] for word in words_of(statement.lower())}) > len(question_stems):
        return True
    setting = _SETTING.match(statement)
    statement = statement[setting.end() :] if setting else statement
    house = _HOUSE.match(statement)
    if house:
        rest = statement[house.end() :]
        someone = "they" if rest.startswith("'") else "the people" if house["they"] else "the"
        statement = f"{someone}{rest}"
    neutral = not takes_stance(statement.replace(value, ""))
    figure = "9" if value[:1].isdigit() else "then"
    if states(statement.replace(value, figure)) or (neutral and states(statement.replace(value, "the one"))):
        return True
    named = neutral and value[:1].isalpha()
    before, _, behind = statement.partition(value)
    # Behind a verb it is one of several objects ("included Hungary, Romania and Finland"); before a past verb, its subject.
    return states(f"{before}then", joined=True) or (named and not before and is_past("".join(words_of(behind)[:1])))


def _next_topic(raw: str, topic: PronounTopic, topics: Sequence[PronounTopic]) -> PronounTopic:
    """The topic for a pronoun after this sentence, from its statements in order."""
    if topics:
        return topics[0] if all(other == topics[0] for other in topics) else NOTHING
    return topic_of(raw) if raw and not SMALL_TALK.fullmatch(raw) else topic


def _statements(text: str, sentence: Sentence, asked: Sequence[Asked], *, alone: bool) -> Iterator[_Statement]:
    """The sentence's statements in the speaker's words, with their places."""
    start, end = sentence.start, sentence.end
    raw = clean(sentence.text or text[start:end])
    if sentence.kind is BlockKind.HEADER or (sentence.kind is BlockKind.QUOTED and not is_said(raw)):
        return
    if sentence.text is not None:
        quoted = sentence.kind is BlockKind.QUOTED
        texts = (statement for statement, _, _ in _clauses(raw, 0, len(raw))) if quoted else (raw,)
        yield from (_Statement(statement, start, end) for statement in texts)
        return
    stands_alone = sentence.lead or sentence.kind in (BlockKind.HEADING, BlockKind.QUOTED)
    reply = None if stands_alone else read_reply(raw, asked, alone=alone)
    if reply is not None:
        yield from (_Statement(claim, start, end, replies=True) for claim in reply.claims)
        if reply.unmade:
            yield _Statement(raw, start, end, unmade=True, replies=True)
        if not reply.rest:
            return
        # "You don't, it's included." goes on behind its comma.
        start = max(start, text.rfind(reply.rest, start, end))
    if names_only(raw, sentence):
        return
    if sentence.lead and _is_completed(raw, sentence):
        yield _Statement(f"{clean(sentence.lead)}: {raw}", start, end)
    else:
        yield from (_Statement(*one) for one in _clauses(text, start, end))


def names_only(raw: str, sentence: Sentence) -> bool:
    """True if a sentence has nothing to check: small talk, a heading's topic, a lead-in."""
    if SMALL_TALK.fullmatch(raw):
        return not _attached_statements(raw)
    if raw.endswith(":"):
        return sentence.leads and not _is_statement_lead(raw[:-1])
    return sentence.kind is BlockKind.HEADING and not (says(raw) or _VALUE.search(raw) or _gives_figure(raw))


def _gives_figure(line: str) -> bool:
    """True if a heading or a lead-in gives a figure: "Max pressure: 17 bar", "The pump stops at 17 bar"."""
    words = words_of(_LIST_MARK.sub("", line, count=1))
    placed = any(
        word[0].isdigit() and before.lower() in PREPOSITIONS for before, word in pairwise(words) if before != words[0]
    )
    return _TITLED_VALUE.fullmatch(line) is not None or (placed and words[0].lower() in DETERMINERS)


def _is_statement_lead(lead: str) -> bool:
    """True if a lead-in is itself a statement: "The hall opened in 1850:", but not "The hall has:"."""
    words = words_of(lead)
    figure = LONG_FIGURE.search(lead) is not None or _gives_figure(lead)
    if figure and len(words) > 2 and not _ANNOUNCES.match(lead):
        return True
    if not says(lead) or not _is_statement(lead) or CATAPHORIC.search(lead):
        return False
    return words[-1].lower() not in _OPEN_ENDS and not is_verb(words[-1]) and not ends_with_verb(words)


def _is_completed(raw: str, sentence: Sentence) -> bool:
    """True if the sentence only completes its lead-in: "The hall opened:", then "in 1850"."""
    if sentence.kind is BlockKind.ITEM and is_opening(sentence.lead):
        return True
    if _is_statement(raw):
        return LONG_FIGURE.search(sentence.lead) is not None and len(words_of(sentence.lead)) < 3
    return sentence.kind is BlockKind.ITEM or (
        sentence.kind is BlockKind.PROSE and (raw[:1].islower() or raw[:1].isdigit())
    )


def _clauses(text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    for clause in clauses(text, start, end):
        content = clean(text[clause.start : clause.end])
        for statement in _claims_of(f"{clean(clause.subject)} {content}" if clause.subject else content):
            yield statement, clause.start, clause.end


def _claims_of(clause: str) -> Iterator[str]:
    """A clause's claims: a question's presuppositions, the fact behind "I didn't know that ..."."""
    clause = without_opener(clause)
    if not SMALL_TALK.fullmatch(clause):
        clause = INVITATION.sub("You can ", clause, count=1)
    subjectless = SUBJECTLESS.match(clause)
    if subjectless:
        yield from _with_subject(clause, subjectless.end())
        return
    tag = TAG.search(clause)
    if tag:
        clause = clause[: tag.start()]
    elif _INFERRED.match(clause):
        clause = clause.rstrip("? ")
    elif _is_question(clause):
        yield from _question_claims(clause)
        return
    if EXCLAMATION.match(clause):
        yield from presuppositions(clause)
    elif SMALL_TALK.fullmatch(clause):
        yield from _attached_statements(clause)
    elif not ELLIPTIC.fullmatch(clause.rstrip(".! ")):
        yield from _without_frames(clause)


def _question_claims(question: str) -> Iterator[str]:
    """Claims in a question: "Aren't they owned by Vale?", "The hall opened in 1850?", "Who knew that …?" """
    supposed = supposed_in(question)
    if supposed:
        yield supposed
        yield from inner_statements(supposed)
        return
    words = words_of(question)
    # A statement with a question mark; "You like whales?" asks its listener.
    if (
        len(words) > 3
        and words[0].lower() not in _LISTENER | SUBORDINATORS
        and verb_index(words) is not None
        and not QUESTION.match(question)
    ):
        yield _BEFORE_QUESTION.split(question.rstrip("? "))[0]
        return
    yield from presuppositions(question)


def _attached_statements(small_talk: str) -> list[str]:
    """The statements attached to small talk; if there are none, the whole sentence if it has a figure."""
    return [*inner_statements(small_talk)] or [small_talk] * (FIGURE.search(small_talk) is not None)


def _without_frames(clause: str) -> Iterator[str]:
    """The fact behind "I know that ..."; fact and remark if the remark presupposes it."""
    frame = KNOWN.match(clause)
    # "I know some about mills, like how ..." has no fact behind "know".
    if frame and _is_statement(clause[frame.end() :]) and not _ABOUT.match(clause[frame.end() :]):
        yield from _claims_of(clause[frame.end() :].rstrip("! "))
        return
    remark = NOT_KNOWN.match(clause) or REMARKED.match(clause)
    if remark and _is_fact(clause[remark.end() :], after=remark.group()):
        yield from each(clause[remark.end() :])
    yield from each(clause)


def _is_fact(text: str, after: str) -> bool:
    """True if a remark's `text` stands alone; behind "that" even if its verb is unknown."""
    words = words_of(text)
    follows_that = after.lower().endswith("that ") and len(words) > 2 and words[0].lower() not in _OPEN_WORDS
    return follows_that or _is_statement(text)


def _with_subject(clause: str, after: int) -> Iterator[str]:
    """ "Not sure, it may be 1925": restores the "I", and gives the text behind the comma separately."""
    comma = clause.find(",", after)
    head, rest = (clause, "") if comma < 0 else (clause[:comma], clause[comma + 1 :].strip())
    lower = head[0].lower() + head[1:]
    if lower.startswith("dunno"):
        lower = f"don't know{lower[5:]}"
    verb = "am " if lower.startswith(("not", "unable", "glad")) else "have " if lower.startswith("no ") else ""
    yield from _without_frames(f"I {verb}{lower}")
    if rest:
        yield from _claims_of(rest)


def _is_statement(text: str) -> bool:
    """True if `text` has a subject and a verb of its own, so that it can stand alone."""
    words = words_of(text)
    if len(words) < 3 or words[0].lower() in _OPEN_WORDS:
        return False
    return verb_index(words) is not None or (words[0].lower() not in ("that", "it", "this") and has_verb(text))


def _is_question(text: str) -> bool:
    if text.rstrip("\"') ").endswith("?"):
        # "So you must live in Oslo?" is a statement.
        return not _INFERRED.match(text)
    return QUESTION.match(text) is not None and not text.endswith(("!", "."))
