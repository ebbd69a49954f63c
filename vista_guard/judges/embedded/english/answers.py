"""Makes the claims of an answer that needs its question.

"Yes.", "Exactly.", "The latter.", "Room 14", "Only in summer." A clause of only words about saying and truth (a closed
class) affirms or denies what was asked; one that names an alternative picks it; a phrase without a verb fills an open
question. All words of the answer are kept. What needs a question and cannot be joined with it is no claim, but not judged
either. What a user says is what is claimed here, and never evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from vista_guard.judges.embedded.english.asides import LITERAL
from vista_guard.judges.embedded.english.cues import (
    FUNCTION_WORDS,
    PREPOSITIONS,
    abstains,
    can_be_verb,
    is_base,
    is_clear_base,
    is_plural,
    judges,
)
from vista_guard.judges.embedded.english.questions import (
    DAY,
    NOT_TRUE,
    Asked,
    Choice,
    asked_in,
    negation,
    shape,
)
from vista_guard.judges.embedded.english.speakers import without_opener
from vista_guard.judges.embedded.english.verbs import (
    begins_imperative,
    finite_verb,
    is_participle,
    may_open,
    verb_index,
    words_of,
)
from vista_guard.judges.embedded.english.words import (
    ADVERBS,
    ANSWER_SIGN,
    DETERMINERS,
    OPENER,
    PRONOUNS,
    SMALL_TALK,
    SUBJECTLESS,
    SUBORDINATORS,
    YES_SIGN,
    content_words,
    is_auxiliary,
    is_past,
    is_pronoun_with_verb,
    word_set,
)
from vista_guard.judges.embedded.forms import clean
from vista_guard.judges.embedded.mentions.cues import denies, is_closed
from vista_guard.judges.embedded.quantities import SIGNS, UNITS, Amount, amounts
from vista_guard.reading.canonical import folded
from vista_guard.types import Role, Turn

UNMADE = "it answers with words that need the question, and cannot be joined with it"
"""Why such an answer is not judged."""
MOST_READ = 1000
"""Characters of an earlier turn that are read, from its end."""
_I = re.IGNORECASE


@dataclass(frozen=True)
class Answered:
    """A sentence that needs the question before it, as claims.

    `unmade` if it cannot be made a claim. `rest`: what of the sentence states something by itself ("Yes, and it is free").
    """

    claims: tuple[str, ...] = ()
    unmade: bool = False
    rest: str = ""


def asked_before(history: Sequence[Turn]) -> tuple[Asked, ...]:
    """The questions or statements of the last turn, if it is the user's."""
    if not history or history[-1].role is not Role.USER:
        return ()
    earlier = next((turn.text for turn in reversed(history) if turn.role is Role.ASSISTANT), "")
    return asked_in(_end(history[-1].text), Role.USER, _end(earlier))


def _end(text: str) -> str:
    lines = (clean(line) for line in folded(text[-MOST_READ:]).split("\n"))
    return "\n".join(filter(None, lines))


_APOLOGISES = re.compile(
    r"(?:i(?:'m| am)?|we(?:'re| are)?|my|our)?\s*(?:\w+ly )?(?:sorry|apolog\w+)\b(?! (?:no|not|yes)\b|,)"
    r"|(?:i made an?|we made an?|that (?:was|is) (?:my|our)) (?:mistake|error)\b",
    _I,
)
"""Speaks of the speaker's own last turn, and answers nothing: "I apologize for any confusion." """


def read_reply(text: str, asked: Sequence[Asked], *, alone: bool = True) -> Answered | None:
    """Reads a sentence as an answer; None if it stands alone.

    Args:
        text: a sentence, cleaned.
        asked: what it may answer, in order.
        alone: False behind other statements, where only a plain yes or no still answers.
    """
    head = _head(text, asked) if asked and not _APOLOGISES.match(text) else None
    asks = text.rstrip("\"') ").endswith("?")
    if head is None or (head.sign is None and not alone) or (asks and (head.sign is None or not head.rest)):
        return None
    if head.accepts and _WAITS.search(text):
        return None
    if alone and _adjoins(asked[-1].topic):
        return _of_setting(head, asked[-1].topic)
    picked = _picked(text, asked, head) if alone else None
    if picked is not None:
        return picked
    if not any(one.said for one in asked):
        return _to_open(text, head, asked)
    if head.sign is None:
        return (_of_topic(text, asked) or _fragment(head.rest, asked)) if head.rest else None
    claims, agree = _claims(head, asked)
    if not agree or not head.rest:
        return Answered(claims, unmade=not agree, rest=head.rest)
    return _with_rest(head, claims, asked)


def _of_topic(text: str, asked: Sequence[Asked]) -> Answered | None:
    """The claim of "It's free" after "And parking?" """
    copula = _SAYS_IT.match(text)
    if not copula or not asked[-1].topic:
        return None
    plural = re.search(r"'re|are|were", copula[0]) is not None
    return Answered((f"{asked[-1].topic} {'are' if plural else 'is'} {text[copula.end() :].rstrip(' .!')}",))


def _of_setting(head: _Head, topic: str) -> Answered | None:
    """The claim of "We're closed" and of "10 to 12" after "And on Sundays?" """
    said = _without_tail(without_opener(head.rest))
    if not said:
        return Answered(unmade=True)
    if SUBJECTLESS.match(said) or _NOT_KNOWN.match(said):
        return None
    if _is_phrase(said):
        return Answered((f"it is {_value(said)} {topic}",))
    words = words_of(said)
    opens = words[0].lower() in PRONOUNS - {"i"} or (is_pronoun_with_verb(words[0]) and not words[0].startswith("I'"))
    if opens and topic.split(" ", 1)[0].lower() not in words:
        return Answered((f"{said} {topic[0].lower()}{topic[1:]}",))
    return Answered(rest=head.rest) if head.sign is not None else None


def _to_open(text: str, head: _Head, asked: Sequence[Asked]) -> Answered | None:
    """The claims of an answer to open questions, to requests, or to what could not be read."""
    plain = head.sign is not None and not head.rest
    doer = _doer(text, asked)
    if doer is not None:
        return doer
    if any(one.is_unread for one in asked):
        return Answered(unmade=True) if plain or _is_phrase(_without_tail(text)) else None
    joint = re.search(r"[,;] (?:and |but )?", text)
    is_whole = text.split(" ", 1)[0].lower() not in _BEFORE_CLAUSE  # "If it rains, we refund it"
    if joint and is_whole and head.sign is None and _is_phrase(text[: joint.start()]) and _stands(text[joint.end() :]):
        first = _fragment(text[: joint.start()], asked)  # "8:15, and the doors open at 7:45"
        return first and replace(first, rest=text[joint.end() :])
    # "Yes" answers no open question; "Nobody" does. A request is accepted or refused.
    if is_plain(text) or (plain and not any(one.open for one in asked)):
        return Answered()
    return _fragment(text if plain else head.rest, asked)


def _doer(text: str, asked: Sequence[Asked]) -> Answered | None:
    """The claim of "You do, within a week" after "Who pays for it?" """
    deed = _DOES.fullmatch(text.strip(" .!"))
    one = next((one for one in reversed(asked) if one.open), None)
    if not deed or one is None:
        return None
    person = _PERSON.fullmatch(deed["who"])
    if not person and not _is_phrase(_without_label(deed["who"], one)):
        return None
    made = "" if person and not person["known"] else one.filled(_value(deed["who"]))
    if not made:
        return Answered(unmade=True)
    claim = negation(made) if deed["no"] else made
    return Answered((f"{claim}{deed['behind'] or ''}",))


_WAITS = re.compile(r"\b(?:(?:one|a) (?:moment|second|minute)|let me|i'll|i will)\b", _I)


def is_plain(text: str) -> bool:
    """True for yes, no and the like alone."""
    words = set(re.findall(r"\w+", text.lower()))
    return bool(words) and words <= _YES | _NO


def _with_rest(head: _Head, claims: tuple[str, ...], asked: Sequence[Asked]) -> Answered:
    """The claims of a yes or no and of what follows it."""
    behind = _fragment(head.rest, asked, denied=head.sign == -1)
    if behind is not None and not (behind.unmade and claims and _restates(head.rest, claims[-1])):
        # "No, at 7": what is denied, and the value in its place.
        more = (_beside(claims[-1], head.rest),) if behind.unmade and claims else behind.claims
        said = dict.fromkeys((*claims, *filter(None, more)))
        return Answered(tuple(said), unmade=behind.unmade and not claims)
    # A "no" before "you would not lose it", and a "yes" before "you keep it", say nothing more.
    says_itself = denies(head.rest) == (head.sign == -1) or any(one.denies for one in asked)
    says_itself = says_itself and not begins_imperative(words_of(head.rest))
    restated = [claim for claim in claims if says_itself and _restates(head.rest, claim.removeprefix(NOT_TRUE))]
    return Answered(tuple(claim for claim in claims if claim not in restated), rest=head.rest)


def _beside(claim: str, rest: str) -> str:
    """A claim with what has no place in it: "there is a fee: $5"; "it is $5" behind "it is not true that it is free"."""
    value = _value(_without_tail(rest))
    if not claim.startswith(NOT_TRUE):
        return f"{claim}: {value}"
    said = _IS.match(claim.removeprefix(NOT_TRUE))
    return f"{said[0].strip()} {value}" if said and amounts(value) else ""


def _restates(rest: str, claim: str) -> bool:
    """True if a clause has all figures and half of the words of the claim, so that it says it by itself."""
    wanted, said = _stems(claim), _stems(rest)
    figures = {word for word in wanted if word[0].isdigit()}
    return bool(wanted) and figures <= said and 2 * len(wanted & said) >= len(wanted)


_NO_CONTENT = word_set(
    "can could will would shall should may might must ca wo don doesn didn isn aren wasn weren hasn haven s t re ve ll any some"
)


def _stems(text: str) -> frozenset[str]:
    return frozenset(word[:4] for word in content_words(text) - _NO_CONTENT)


# ---- Yes and no

_YES = word_set(
    """yes yeah yep yea yup aye sure absolutely definitely certainly exactly precisely correct right true indeed totally
    affirmative agreed confirmed naturally confirm agree accurate fact
    sí si sì oui ja jo jawohl genau richtig stimmt klar da tak ano áno sim certo claro exacto correcto verdad cierto vero esatto
    exactement exact bien igen kyllä joo jā taip ναι да так evet natürlich hai"""
)
"""Yes, also in other languages of Europe."""
_NO = word_set("no nope nah nay negative nein falsch non faux nee nej nei não nie ne nem ei όχι нет ні falso hayır")
_AGREEING = _YES | word_set(
    """so case confirms truth same point course bet doubt likely probably apparently bang spot nailed guessed question match
    matches consistent fits fit tallies checks check means seems appears got both all"""
)
"""Words by which a clause of only closed words affirms."""
_FILLING = word_set(
    """afraid quite just perfectly hundred percent my our i we am it's that's you're they're i'm i'd there's you've sources
    policy website can could happily gladly happy glad to pleased wholly fully gospel very too alas regret regrettably dear
    friend sir madam please out no understanding understood records record notes file files given how your yours them know
    found find see mentioned noted described stated written in surely by any guess suppose would assume imagine presume hope
    sort kind chance questions counts for without yet unfortunately"""
)
"""Other words that such a clause may have."""
_PLAIN_YES = word_set("yes yeah yep yup exactly correct right true confirmed precisely")
_SAYS = re.compile(
    r"\b(?:say|says|said|state|states|tell|tells|told|read|reads|hold|holds|stand|stands|write|written|heard|think|thought)\b",
    _I,
)
_POINTS = re.compile(r"\b(?:that|this|it|so|exactly|as|what|same)\b", _I)
_OF_TRUTH = re.compile(r"\b(?:that|this|true|right|correct|case|you|your|wrong|false|mistaken|incorrect|untrue)\b", _I)
_ECHO = re.compile(
    r"\b(?:i|you|he|she|it|they|we|one|that|this|there|those|these)(?: (?:\w+ly|sure|indeed|really|just))?"
    r"(?:'s|'re|'m| (?:is|are|am|was|were|do|does|did|have|has|had|can|could|will|would|should|must|may)(?:n't)?"
    r"| won't| can't| cannot)"
    r"(?: (?:not|indeed|so|too|either|it|one|any|none|\w+ly))*$",
    _I,
)
_CUT = re.compile(r"\s*(?:[,.;:!…]+|\s[-–—]+|—)(?:\s+|$)|\s+(?=(?:and|but|because|since|although)\s)")
_AFTER_YES = re.compile(
    r"(?:yes|yeah|yep|yup|yea|indeed|sure|absolutely|definitely|certainly|exactly|correct|right|true)\s+(?=\w)(?!not\b)",
    _I,
)
_AFTER_NO = re.compile(r"(?:no|nope|nah)\s+(?=(?:it|they|he|she|there|that|this|you|we|i|not)\b)", _I)
_SETTING = re.compile(r"(?:as far as|to (?:my|our)|from what)\b", _I)
_MOST_WORDS = 10
"""Most words of a clause that only affirms or denies."""
_LAST = re.compile(r"(?P<before>.+),\s+(?P<said>[^,]+)$")


class _Stance(NamedTuple):
    """The stance of a clause: it affirms (1), denies (-1), does both (0) or neither (None).

    `of_core`: it is that of the positive statement, whatever the asked one denies ("No, it isn't"); `of_truth`: but if asked
    whether all of it is true, of that. `accepts`: it may only accept a request: "Of course!"
    """

    sign: int | None = None
    of_core: bool = False
    of_truth: bool = False
    accepts: bool = False


@dataclass(frozen=True)
class _Head:
    """The clauses of a sentence that affirm or deny, and what follows."""

    stances: tuple[_Stance, ...]
    rest: str

    @property
    def sign(self) -> int | None:
        """The common sign; 0 if there are several, None for none."""
        signs = {stance.sign for stance in self.stances}
        return next(iter(signs), None) if len(signs) < 2 else 0

    @property
    def accepts(self) -> bool:
        return all(stance.accepts for stance in self.stances)


def _head(text: str, asked: Sequence[Asked]) -> _Head:
    signed = ANSWER_SIGN.findall(text)
    bare = ANSWER_SIGN.sub(" ", text).strip()
    if signed and not re.search(r"\w", bare):
        return _Head(tuple(_Stance(1 if YES_SIGN.match(sign) else -1, accepts=True) for sign in signed), "")
    rest = without_opener(bare) if _SETTING.match(bare) else bare
    last = _LAST.search(rest)
    another = (
        last
        and not re.match(r"not |as far|from what|to (?:my|our)", rest, _I)
        and any(_has_kind(last["before"], one.said) for one in asked)
    )
    if last and is_plain(last["said"]) and not another:  # "Sweden, no." says nothing of Norway
        rest = f"{last['said']}, {last['before']}"  # "From what I can see, yes."
    stances = list[_Stance]()
    while re.search(r"\w", rest):
        clause, behind = _first_clause(rest)
        stance = _stance(clause, asked)
        if stance is None:
            break
        if stance.sign is not None and not (stances and re.fullmatch(r"(?:my|our) (?:mistake|error|bad)", clause, _I)):
            stances.append(stance)
        rest = behind
    return _Head(tuple(stances), (rest if re.search(r"\w", rest) else "") if stances else bare)


def _first_clause(text: str) -> tuple[str, str]:
    lead = _AFTER_YES.match(text) or _AFTER_NO.match(text)
    if lead and not re.match(
        r"(?:right|correct|exactly|true|sure) (?:away|now|here|there|at|in|on|the|thing)\b", text, _I
    ):
        return lead[0].strip(), text[lead.end() :]
    cut = _CUT.search(text)
    if cut is None:
        return text, ""
    return text[: cut.start()], re.sub(r"^(?:and|but)\s+", "", text[cut.end() :], flags=_I)


def _stance(clause: str, asked: Sequence[Asked]) -> _Stance | None:
    """The stance of a clause on the question; None if it says something else."""
    bare = clause.strip(" .!,;:\"'()…").replace("’", "'")
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+", bare.lower())
    if not words:
        return _Stance()
    if len(words) > _MOST_WORDS:
        return None
    if set(words) <= _NO:
        return _Stance(-1, of_core=True, of_truth=True)
    if is_closed(" ".join(word for word in words if word not in _AGREEING | _FILLING and word != "100")):
        return _closed_stance(bare, words)
    if _PERMITS.fullmatch(bare):
        asks = any(_PERMISSION.search(one.said) for one in asked)
        return _Stance(-1 if denies(bare) else 1, of_core=True) if asks else _Stance(0)  # "Is that forbidden?"
    if _is_echo(bare, asked):
        return _Stance(-1 if denies(bare) else 1, of_core=True)
    return _Stance() if SMALL_TALK.fullmatch(f"{bare}.") else None


_PERMITS = re.compile(
    r"(?:it|that|this|one|you)(?:'s|'re| is| are)(?: \w+ly| not|n't)* (?:fine|ok(?:ay)?|all ?right|possible|all set)",
    _I,
)
_PERMISSION = re.compile(
    r"\b(?:can|may|could|ok(?:ay)?|fine|all ?right|possible|allowed|permitted|included|safe)\b", _I
)


def _closed_stance(bare: str, words: Sequence[str]) -> _Stance:
    """The stance of a clause of only words about saying and truth; none for "Well said" and "I'm not sure"."""
    unsure = re.match(r"(?:i|we)\b.*\b(?:know|sure|certain)\b", bare, _I) and denies(bare)
    if abstains(bare) or unsure:
        return _Stance()
    agrees = not _AGREEING.isdisjoint(words)
    echo = _ECHO.search(bare) is not None and not agrees
    of_truth = _OF_TRUTH.search(bare) is not None or re.fullmatch(r"it(?:'s| is)", bare, _I) is not None
    if denies(re.sub(r"\bwithout\b", "no", bare, flags=_I)):
        return _Stance(-1, of_core=echo or not of_truth, of_truth=of_truth or not echo)
    if not (agrees or echo or (_SAYS.search(bare) and _POINTS.search(bare))):
        return _Stance()
    return _Stance(1, echo, of_truth, accepts=agrees and words[0] not in _PLAIN_YES and "that" not in words)


def _is_echo(bare: str, asked: Sequence[Asked]) -> bool:
    """True if a clause repeats the question's predicate, with a pronoun: "it is open", of "Is the pool open on Mondays?" """
    opens, _, rest = _CONTRACTED.sub(lambda match: f" {_IN_FULL[match[1]]}", bare).partition(" ")
    said = _predicate(re.sub(r" (?:not|it|them|one)\b|n't\b", "", f" {rest}"))
    return (
        opens.lower() in PRONOUNS
        and bool(_stems(said))
        and any(
            one.said and not one.choice and f"{_predicate(one.said, verb=True)} ".startswith(f"{said} ")
            for one in asked
        )
    )


_IN_FULL = {"s": "is", "re": "are", "m": "am"}
_CONTRACTED = re.compile(r"(?<=\w)'(s|re|m)\b")


def _predicate(said: str, *, verb: bool = False) -> str:
    """A clause's words without adverbs and the "s" of verbs; with `verb`, from its verb on."""
    words = words_of(said)
    place = finite_verb(words) or (2 if words[0].lower() in DETERMINERS else 1) if verb else 0
    kept = (word.lower() for word in words[place:])
    return " ".join(word.removesuffix("s") for word in kept if word not in ADVERBS and not word.endswith("ly"))


def _claims(head: _Head, asked: Sequence[Asked]) -> tuple[tuple[str, ...], bool]:
    """The claims that the clauses make of each question, and whether they agree."""
    claims, agree = list[str](), True
    for one in asked:
        if not one.said or (one.is_request and head.accepts and head.sign == 1):
            continue
        meant = {_affirms(stance, one) for stance in head.stances}
        if len(meant) > 1:
            agree = False
        else:
            claims += [one.said if meant == {True} else negation(one.said)]
    return tuple(claims), agree


def _affirms(stance: _Stance, one: Asked) -> bool | None:
    """True if a clause affirms all of a statement; None if it both affirms and denies."""
    of_truth = stance.of_truth and one.asks_truth
    turned = stance.of_core and one.denies and not of_truth
    return (stance.sign == 1) != turned if stance.sign else None


# ---- Alternatives

_PICKING = word_set(
    """first former second third fourth latter last final both neither either none all one ones option options you named
    mentioned said asked about gave wrote of them these those two three it's it is that's that would be go with answer and but
    not yes no same is are was were them"""
)
_NTH = {"first": 0, "former": 0, "second": 1, "third": 2, "fourth": 3, "latter": -1, "last": -1, "final": -1}
_MUST_PICK = re.compile(r"\b(?:first|former|second|third|fourth|latter|last|final|both|neither|either|none|all)\b", _I)


def _picked(text: str, asked: Sequence[Asked], head: _Head) -> Answered | None:
    """The claims of an answer that picks alternatives by place or number, or by repeating one."""
    text = _without_tail(text)
    clauses = [clause for clause in re.split(r"[,.;!]\s*", text) if clause.strip()]
    words = re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower())
    choice = next((one.choice for one in reversed(asked) if one.choice), None)
    pointing = bool(words) and _MUST_PICK.search(text) and set(words) - word_set("the a oh well so i think") <= _PICKING
    if choice is None:
        return None
    statements = [choice.with_(part) for part in choice.parts]
    if pointing and not re.search(r"\d", text):
        chosen = _places(clauses, len(statements))
        if not chosen:
            return Answered(unmade=True)
        return Answered(tuple(statements[i] for i, yes in sorted(chosen.items()) if yes))
    return _repeated(text, choice) if head.sign is None or head.rest else None


def _places(clauses: Sequence[str], count: int) -> dict[int, bool]:
    """Index of each alternative that is named by its place, and whether it is affirmed."""
    chosen = dict[int, bool]()
    for clause in clauses:
        words = re.findall(r"[a-z]+", clause.lower())
        if {"both", "all"} & set(words):
            return dict.fromkeys(range(count), True)
        for word in words:
            index = _NTH.get(word)
            if index is not None and -count <= index < count:
                chosen[index % count] = "not" not in words
    if count == 2 and len(chosen) == 1 and not any(chosen.values()):
        chosen = {1 - next(iter(chosen)): True}
    return chosen


def _repeated(text: str, choice: Choice) -> Answered | None:
    """An alternative by its own words, or another value in their place."""
    phrase = _without_tail(text)
    copula = _SAYS_IT.match(phrase)
    phrase = phrase[copula.end() :] if copula else phrase
    if not _is_phrase(phrase):
        return None
    said = set(re.findall(r"\w+", phrase.lower()))
    parts = [set(re.findall(r"\w+", part.lower())) for part in choice.parts]
    common = set.intersection(*parts)
    named = [
        part for part, words in zip(choice.parts, parts, strict=True) if (words - common) and words - common <= said
    ]
    value = _value(phrase)
    if len(named) > 1 or (named and value.isdigit()):  # "30", of "14 days or 30 days"
        return Answered(tuple(choice.with_(part) for part in named))
    return (
        Answered((_joined(choice.before, value, choice.behind),))
        if named or shape(value) == shape(choice.parts[0])
        else None
    )


def _without_tail(text: str) -> str:
    """The text without a last clause that only adds certainty: "318, I think"."""
    text = text.strip(" .!,;")
    last = _LAST.search(text)
    bare = last["said"].strip() if last else ""
    stance = _stance(bare, ()) if bare else None
    only = _SETTING.match(bare) or (stance is not None and stance.sign != -1)
    return last["before"] if last and only else text


def _joined(before: str, value: str, behind: str) -> str:
    """A statement with the value, and no preposition twice."""
    start, _, last = before.rstrip().rpartition(" ")
    if last.lower() in PREPOSITIONS and value.split(" ", 1)[0].lower() in PREPOSITIONS | {"only"}:
        before = start
    return " ".join(filter(None, (before.strip(), value, behind.strip())))


# ---- Values in sentences that do not state them

_MOST_VALUES = 3
_NAMED_VALUE = re.compile(
    r"\b[A-Z][\w'-]*\w(?: (?:(?:of|de|van|von) )?[A-Z][\w'-]*\w){0,4}(?: \d+[A-Za-z]?\b)?"
    r"|\b[a-z]{3,} (?:\d+[A-Za-z]?|[A-Z]\d+)\b"
)
_WORD_BEHIND = re.compile(r" ([a-z]{3,})\b")
"""The noun that a name in front of it only describes: "the Axis nations"."""
LABEL = re.compile(r"[^:]{0,60}[^\W_][^\s\w:]{0,3}:\s+")
"""A name in front of its value: "Adults: £12"."""
_NO_VALUE = re.compile(
    rf"(?:\+|(?<![\w.,])0)\d[\d ()/.-]{{5,}}\d|\(\d{{3}}\) ?\d{{3}}-\d{{3,}}|(?<![\w-])\d{{1,4}}(?:-\d{{2,4}}){{2,}}(?![\w-])"
    rf"|\b(?!(?:{'|'.join(PREPOSITIONS)})\b)[^\W\d]+ \d{{1,3}}(?=:\s)|\d\ufe0f?\u20e3",
    re.IGNORECASE,
)
"""Figures that are no amount: a telephone number, a number in a name ("Step 2: Pay at the desk"), one in a box."""
_UNIT_BEHIND = re.compile(r"\s?(?:[%€£°$]|[A-Za-z]+(?: of [a-z]+)?)")
_COUNTED = re.compile(r"\b(?:(?:these|those) \w+|an?(?: \w+)?)\s?$", re.IGNORECASE)
"""A number word that is no answer: "these two rules", "a day lasts ..."."""
_OF_MONEY = re.compile(
    r"(?:what|which|how much) .*\b(?:costs?|prices?|priced|fees?|fare|charged?|pay)\b|how much (?:is|are)\b",
    re.IGNORECASE,
)
_THINGS = re.compile(
    r"\s(?!each\b|for\b|per\b|only\b|plus\b|total\b|with\b|if\b|when\b|extra\b|more\b|less\b)[a-z]{3,}"
)
"""The things behind a number without a unit: "two people" is no sum of money."""


def claims_of_values(question: str, sentence: str) -> Iterator[tuple[str, str]]:
    """The values in a sentence that answer the user's `question`, each with its claim: "the ferry leaves at 9"."""
    asked = Asked(open=question)
    label = LABEL.match(sentence)
    if label and any(map(str.isdigit, sentence[label.end() :])) and not any(one.dimension for one in amounts(label[0])):
        sentence = sentence[label.end() :]  # "Children (8–14): £6" gives no other figure
    question_word = question.split(" ")[0].lower()
    found = dict[tuple[int, int], str]()
    for start, end in sorted(_values(sentence, question_word, money=_OF_MONEY.match(question) is not None)):
        if not any(start < last and first < end for first, last in found) and sentence[start:end] not in question:
            found[start, end] = sentence[start:end]
    for value in list(found.values())[:_MOST_VALUES]:
        if value.lower() != "one" and (made := asked.filled(value)):  # "There isn't one."
            yield value, made


def _values(sentence: str, question_word: str, *, money: bool) -> Iterator[tuple[int, int]]:
    """Spans of possible answers to "when", "how" or "who".

    With `money`, "two people" and "2 hours" are no answers.
    """
    names = [match.span() for match in _NO_VALUE.finditer(sentence)]
    for amount in amounts(sentence) if question_word not in ("who", "where") else ():
        timed = amount.dimension in ("clock", "date")
        counted = sentence[amount.start].isalpha() and _COUNTED.search(sentence[: amount.end + 1])
        if counted or (timed if question_word == "how" else amount.number is None and not timed):
            continue
        if money and _is_no_money(amount, sentence):
            continue
        if not amount.dimension and any(start <= amount.start < end for start, end in names):
            continue
        unit = None if timed or not amount.dimension else _UNIT_BEHIND.match(sentence, amount.end)
        signed = amount.start > 0 and sentence[amount.start - 1] in SIGNS
        # "£50 for", "from £5 a day"
        yield amount.start - signed, unit.end() if unit and not signed else amount.end
    if question_word in ("when", "what", "which") and not money:
        days = (day for day in LITERAL.finditer(sentence) if day[0].isalpha())
        yield from (day.span() for day in days if not _MAY_I.match(sentence, day.start()))
    if question_word in ("who", "where"):
        for name in _NAMED_VALUE.finditer(sentence):
            first, opener = name[0].split(" ")[0], OPENER.match(sentence)
            opens = may_open(first) or (opener is not None and name.end() <= opener.end() < len(sentence))
            start = name.start() + (len(first) + 1 if opens else 0)
            behind = _WORD_BEHIND.match(sentence, name.end())
            modifies = behind is not None and not can_be_verb(behind[1]) and behind[1] not in FUNCTION_WORDS
            yield from [(start, name.end())] if start < name.end() and not modifies else []


def _is_no_money(amount: Amount, sentence: str) -> bool:
    """True for other units, and for what counts things. Currencies have names in capitals."""
    if amount.dimension:
        return amount.dimension.islower() and amount.dimension not in ("money", "share")
    counted = _THINGS.match(sentence, amount.end)
    return counted is not None and bool(content_words(counted[0]))


# ---- Phrases

_LONGEST_PHRASE = 14
_NOT_KNOWN = re.compile(
    r"(?:maybe|perhaps|possibly|depends|unknown|unclear|unsure|n/a|(?:not|no) (?:known|stated|mentioned|specified|given|available"
    r"|sure|certain|provided|found|idea|clue|information|data|comment))\b",
    _I,
)
_OPINION = re.compile(
    r"\b(?:do|did|would|are|have|can|could|should) you (?:\w+ )?(?:think|feel|like|love|prefer|recommend|suggest|doing|know|want"
    r"|mean)\b|\byour (?:opinion|favou?rite|view)",
    _I,
)
"""Questions for a taste, which no phrase turns into a fact."""


def _adjoins(topic: str) -> bool:
    """True for a topic that tells when, where or for whom: "on Sundays"."""
    return topic.split(" ", 1)[0].lower() in PREPOSITIONS


_SAYS_IT = re.compile(
    r"(?:it|that|this|they|he|she|the answer)(?:'s|'re|'d be| is| are| was| were| would be| will be)\s+(?=\S)",
    _I,
)


_DOES = re.compile(
    r"(?P<who>(?!(?:that|this|there)\b).+?) (?:do|does|did|is|are|was|were|(?:has|have)(?: to)?|can|will|must|should|may)"
    r"(?P<no>n't| not)?(?P<behind>, .+)?",
    _I,
)
_PERSON = re.compile(r"(?P<known>i|you|we)|he|she|it|they", _I)
_MAY_I = re.compile(r"May (?:I|we|you)\b")
_NO_VERB = re.compile(r"\d\s?(?i:[ap])\.?(?i:m)\b|\bMay\b(?! (?:I|we|you)\b)")
"""Times of day and a month, which look like verbs."""


_SUBJECTS = PRONOUNS - {"that"}
_THIRD_PERSON = re.compile(r"(?!(?:on|in|at|this|his|its)$)[a-z]+[^s\W]s")


_OBJECTS = word_set("the its his her their our my your it them")
_NO_VERBS = PREPOSITIONS | FUNCTION_WORDS | DETERMINERS | SUBORDINATORS


def _stands(text: str) -> bool:
    """True for a clause with its own subject and verb: "the doors open at 7:45"."""
    words = words_of(text)
    if not words or words[0].lower() in SUBORDINATORS:
        return False
    if words[0].lower() in PREPOSITIONS:  # "on Sundays we close at 12"
        subject = next((i for i, word in enumerate(words[:5]) if word.lower() in PRONOUNS - {"that"}), 0)
        return subject > 0 and _stands(" ".join(words[subject:]))
    acts = any(is_plural(noun) and is_base(verb) for noun, verb in pairwise(words)) or any(map(is_auxiliary, words[1:]))
    return acts or begins_imperative(words) or finite_verb(words) is not None


def _begins_phrase(word: str) -> bool:
    return word[:1].isupper() or word[:1].isdigit() or word.lower() in DETERMINERS | PREPOSITIONS


_BEFORE_CLAUSE = ("because", "since", "until", "when", "if", "unless", "after", "before", "while")


def _is_phrase(text: str) -> bool:
    """True if a text is no clause: no verb of its own, no order."""
    words = words_of(_NO_VERB.sub("0", text))
    if not 0 < len(words) <= _LONGEST_PHRASE or "?" in text or re.search(r":(?!\d)", text):
        return False
    if not all(_is_phrase(part) for part in text.split(", ")[1:]):
        return False  # "If you no longer need it, delete it"
    opens = words[0].lower()
    if opens in _BEFORE_CLAUSE or opens == "as":  # "After two visits we may ask you" is a clause
        return opens == "as" or not any(
            word.lower() in _SUBJECTS and can_be_verb(verb) for word, verb in pairwise(words[2:])
        )
    hangs = re.search(rf",? (?:{'|'.join(_BEFORE_CLAUSE)}) (?=\w+ \w)", text)
    if hangs and _is_phrase(text[: hangs.start()]):
        return True  # "30 days after you move out"
    if begins_imperative(words) or any(map(is_auxiliary, words)) or any(map(is_pronoun_with_verb, words)):
        return False
    if any(adverb in ADVERBS and _THIRD_PERSON.fullmatch(verb) for adverb, verb in pairwise(words[1:])):
        return False  # "the garage never closes"
    words = [word for word in words if word.lower() not in ADVERBS and not word.endswith("ly")] or words
    pairs = [(word.lower(), behind) for word, behind in pairwise(words)]
    if any(word in _SUBJECTS and can_be_verb(behind) for word, behind in pairs):
        return False
    if any(
        is_past(verb) and word not in DETERMINERS and behind != "by" and _begins_phrase(behind)
        for (word, verb), (_, behind) in pairwise(pairs)
    ):
        return False  # "some of the powers included Hungary", "the hall of the museum opened in 1925"
    if any(is_plural(noun) and is_base(verb) for noun, verb in pairwise(words)):
        return False  # "two people fit"
    if any(
        is_clear_base(verb) and word.lower() not in PREPOSITIONS | _OBJECTS | {"a", "an"}
        for word, verb in pairwise(words)
    ):
        return False  # "groups of eight get a discount"
    if any(verb.islower() and verb not in _NO_VERBS and behind in _OBJECTS for verb, behind in pairwise(words[1:])):
        return False  # a verb that no list has: "Otto Ferrer rebuilt it"
    return verb_index(words) is None and finite_verb(words) is None


def _fragment(text: str, asked: Sequence[Asked], *, denied: bool = False) -> Answered | None:
    """A phrase in the place that the question leaves for it; None if it is a clause or has none."""
    phrase = _without_tail(text)
    one = next((one for one in reversed(asked) if one.open or one.said), None)
    if one is None or abstains(phrase) or SUBJECTLESS.match(phrase) or _OPINION.search(one.open):
        return None
    copula = _SAYS_IT.match(phrase) if one.open else None
    if copula and not _stems(phrase[copula.end() :]) & _stems(one.open):
        phrase = phrase[copula.end() :]
        if is_participle(phrase.split(" ", 1)[0]):
            return None  # "It was built in 1931." and "It is closed on Mondays." say more than a value
    if (
        not _is_phrase(_without_label(phrase, one))
        or SMALL_TALK.fullmatch(f"{phrase}.")
        or _NOT_KNOWN.match(phrase)
        or judges(phrase)
    ):
        return None
    value = re.sub(r"\s+of (?:them|these|those)$", "", _value(phrase))
    if one.open:
        made = one.filled(value)
        if made.lower().startswith("not ") and not amounts(value):
            made = negation(one.filled(value[4:]))  # "Not the landlord."
        return Answered((made,)) if made else Answered(unmade=True)
    if set(re.findall(r"\w+", value.lower())) <= FUNCTION_WORDS:
        return Answered()  # "Why, yes."
    lacking = _LACKS.match(value)
    if lacking and _stems(value[lacking.end() :]) - {"not"} <= _stems(one.said):
        return Answered((one.said if one.denies else negation(one.said),))  # "Not on Mondays", "No pool", "Not a cent"
    if not one.is_question and not _has_kind(value, one.said):
        return None
    if (
        not denied
        and _stems(value) <= _stems(one.said)
        and value.split(" ", 1)[0].lower() not in PREPOSITIONS | {"only"}
    ):
        return Answered((one.said,))
    if one.topic:
        return Answered((f"{one.topic} is {value}",))
    replaced = _in_place(one.said, value, denied=denied)
    return Answered((replaced,)) if replaced else Answered(unmade=True)


def _without_label(phrase: str, one: Asked) -> str:
    """The phrase without a letter or number behind a noun of the question: "Plan L" is no order to plan, and in "Trip 7 costs
    90 euros" 7 counts no costs."""
    label = _LABEL.match(phrase)
    if label is None or label["noun"].lower() not in words_of(f"{one.open} {one.topic}".lower()):
        return phrase
    return f"the {label['noun'].lower()}{phrase[label.end() :]}" if phrase[label.end() :] else label["number"]


_LACKS = re.compile(r"(?:not (?:even )?an?(?: single)? \w+$|not (?:even )?|no )", _I)


def _value(phrase: str) -> str:
    """The phrase as it stands inside a sentence."""
    first, _, rest = phrase.partition(" ")
    common = not LITERAL.match(first) and rest[:1].islower() and not re.match(r"(?:and|or) [A-Z]", rest)
    opens = (may_open(first) or amounts(first)) and first != "May" and not rest[:1].isupper()
    if common or opens:
        return phrase[0].lower() + phrase[1:]
    if first.lower() in PREPOSITIONS | SUBORDINATORS | DETERMINERS | {"only", "because"}:
        return phrase[0].lower() + phrase[1:]
    return phrase


_NAME = re.compile(r"\b[A-Z][\w'-]*(?: [A-Z][\w'-]*)*")
_LABEL = re.compile(r"\b(?P<noun>[A-Za-z]{3,}) (?P<number>\d+[A-Za-z]?|[A-Z]\d*)\b")


def _slots(text: str) -> Iterator[tuple[str, int, int]]:
    """Kind and span of what one value can replace: labels, figures, days, months, names."""
    for label in _LABEL.finditer(text):
        yield f"label {label['noun'].lower()}", label.start(), label.end()
    for amount in amounts(text):
        sign = 1 if amount.start and text[amount.start - 1] in "$€£¥₹" else 0
        unit = re.match(r"\s?(?:[%€£°]C?|[A-Za-z]+)", text[amount.end :])
        measured = unit and amount.dimension not in ("", "clock", "date") and unit[0].strip().lower() in UNITS
        yield f"amount {amount.dimension}", amount.start - sign, amount.end + (unit.end() if unit and measured else 0)
    yield from (("day", *match.span()) for match in DAY.finditer(text))
    yield from (
        ("month", *match.span()) for match in LITERAL.finditer(text) if match[0].isalpha() and not DAY.match(match[0])
    )
    yield from (
        ("name", *match.span()) for match in _NAME.finditer(text) if match.start() and not LITERAL.match(match[0])
    )


def _has_kind(value: str, said: str) -> bool:
    kinds = {kind for kind, *_ in _slots(f"- {value}")}
    return bool(kinds & {kind for kind, *_ in _slots(said)})


_IS = re.compile(r"(?! there\b).+? (?:is|are|was|were)\b", _I)
_CAN_DENY = re.compile(r".+? (?:is|are|was|were|can|could|will|would|may|must)\b", _I)


def _in_place(said: str, value: str, *, denied: bool) -> str:
    """The statement with the value in place of its like, else behind it; "" where a denied one has no place for it."""
    for kind, _, _ in _slots(f"- {value}") if value[:4].lower() != "not " else ():
        mine = [slot for slot in _slots(said) if slot[0] == kind]
        if len(mine) == 1:
            return _joined(said[: mine[0][1]], value, said[mine[0][2] :])
    first = value.split(" ", 1)[0].lower()
    does = _CAN_DENY.match(said)
    if first == "not" and does:
        return f"{does[0]} not{said[does.end() :]} {value[4:]}"  # "Not until May", of "the lift is working"
    if not denied and (
        first in PREPOSITIONS | SUBORDINATORS | ADVERBS | {"only", "every", "each", "because", "except"}
        or first.endswith("ly")
    ):
        return f"{said} {value}"
    if not denied:
        return ""
    preposition = [match for match in re.finditer(r"\s(\w+)\s", said) if match[1].lower() in PREPOSITIONS]
    if preposition and (first in PREPOSITIONS or first == "only"):
        return f"{said[: preposition[-1].start()]} {value}"
    return f"{said} {value}" if first == "only" else ""
