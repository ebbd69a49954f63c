"""Decomposers without a model: each sentence a claim, and `steps:embedded`, claims by our own rules of English.

The rules split only if each part follows from the whole and the parts together say all of it. Their trace has the format of DAD's
four steps (§3.1); no model thought them.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from vista_guard.errors import JudgeError
from vista_guard.judges.decomposers.coverage import read_turn
from vista_guard.judges.decomposers.sentences import (
    SentenceTrace,
    Statement,
    as_claim,
    as_it_stands,
    claims_of,
    home,
    overlaps,
    question_of,
    stated,
    statements,
)
from vista_guard.judges.embedded.english.asides import inner_statements
from vista_guard.judges.embedded.english.cues import can_be_verb
from vista_guard.judges.embedded.english.decompose import decompose
from vista_guard.judges.embedded.english.segment import foreign_language
from vista_guard.judges.embedded.english.speakers import (
    NOTHING,
    PronounTopic,
    mentions_person,
    proper_names,
    resolve_pronoun,
)
from vista_guard.judges.embedded.english.verbs import finish_sentence, finite_verb, verb_index, words_of
from vista_guard.judges.embedded.english.words import content_words, is_past
from vista_guard.judges.embedded.judge import READS_ENGLISH
from vista_guard.reading.canonical import folded
from vista_guard.types import Claim, JudgeInfo, Turn


class SentenceDecomposer:
    """Implements `TracingDecomposer`: each sentence is a claim, unchanged but for the speakers' names."""

    info = JudgeInfo(name="sentence", version="1")

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """Claims with the spans of their sentences."""
        return claims_of(await self.trace(turn, history), len(history))

    async def trace(self, turn: Turn, history: Sequence[Turn]) -> Sequence[SentenceTrace]:
        """One record per sentence."""
        sentences, _ = await asyncio.to_thread(read_turn, turn, history)
        return [
            as_claim(sentence, "", "")
            if sentence.error is not None
            else SentenceTrace(
                sentence=sentence.text,
                span=sentence.span,
                claims=(sentence.text if sentence.whole else as_it_stands(sentence.text, turn),),
            )
            for sentence in sentences
        ]


RELATIONS = {
    "attribution": r"\b(?:said|says|say|claim(?:s|ed)?|report(?:s|ed)?|according to|announced|argue[sd]?|predict(?:s|ed)?)\b",
    "cause": r"\b(?:because|since|due to|so that|in order to|therefore|thus|if|unless|caused|led to|as a result)\b",
    "time": r"\b(?:after|before|while|when|during|until|from|in|on) (?:\w+ ){0,2}?(?:\d{3,4}|[A-Z]\w+ \d{1,2})\b|\blater\b",
    "comparison": r"\b(?:than|whereas|although|though|despite|but|however|like|unlike|as \w+ as)\b",
    "expansion": r"\b(?:such as|including|for example|e\.g\.|namely|instead of|or)\b",
    "negation": r"\b(?:not|never|no|neither|nor|without|cannot)\b|n't\b",
    "membership": r"\b(?:part of|member of|one of|among|belongs? to|consists? of)\b",
}
"""Cues for the seven relations of DAD (§3.1, step 3)."""
_KEEPS_WHOLE = re.compile(
    "|".join(RELATIONS[name] for name in ("attribution", "cause", "comparison", "expansion", "negation")), re.IGNORECASE
)
_OF_SPEAKERS = re.compile(r"The (?:assistant|user)\b")
_MOST = 12
"""Most parts of one claim: longer lists are not prose."""


class EmbeddedSteps:
    """Implements `TracingDecomposer`: the embedded judge's claims by rules, split further. English only; no model.

    It names the person or thing that the question asks about ("He was born ..." after "Tell me a bio of Ada Vale"), and
    separates relative clauses, lists behind "has" or "is", and the places and dates of one-time events ("was born on ... in
    ...").
    """

    info = JudgeInfo(name="steps:embedded", version="2")

    def __init__(self, *, keep_steps: bool = False) -> None:
        self._keep_steps = keep_steps

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """Claims with the spans of their sentences.

        Raises:
            JudgeError: the turn is surely not English.
        """
        return claims_of(await self.trace(turn, history), len(history), keep_steps=self._keep_steps)

    async def trace(self, turn: Turn, history: Sequence[Turn]) -> Sequence[SentenceTrace]:
        """One record per sentence, in the format requested of a model; `note` says that rules wrote it."""
        return await asyncio.to_thread(self._trace, turn, history)

    def _trace(self, turn: Turn, history: Sequence[Turn]) -> list[SentenceTrace]:
        language = foreign_language(folded(turn.text))
        if language is not None:
            raise JudgeError(f"the turn looks like {language}; {READS_ENGLISH}")
        sentences = statements(turn.text)
        claims = decompose(turn, history)
        spans = [(claim, claim.span) for claim in claims if claim.span is not None]
        answers = [stated(claim, span) for claim, span in spans if not any(overlaps(one, [span]) for one in sentences)]
        sentences = sorted([*sentences, *answers], key=lambda one: one.span.start)
        homes: dict[int, list[str]] = {place: [] for place in range(len(sentences))}
        asked, _ = question_of(history)
        for claim, text in zip(claims, named(asked, [claim.text for claim in claims]), strict=True):
            homes.setdefault(home(claim, sentences), []).append(text)
        return [_trace_sentence(sentence, homes[place], turn) for place, sentence in enumerate(sentences)]


def _trace_sentence(sentence: Statement, claims: Sequence[str], turn: Turn) -> SentenceTrace:
    if sentence.whole:
        return as_claim(sentence, sentence.text, "not split")
    if not claims:
        return as_claim(sentence, as_it_stands(sentence.text, turn), "no statement")
    if all(_OF_SPEAKERS.match(text) for text in claims):
        return SentenceTrace(
            sentence=sentence.text,
            span=sentence.span,
            claims=tuple(claims),
            status="as it stands",
            note="of who speaks",
            thoughts="STEP 1: It tells of who speaks, and nobody else can say so.",
        )
    clear = " ".join(claims)
    relations = [name for name, cue in RELATIONS.items() if re.search(cue, clear, re.IGNORECASE)]
    parts = tuple(dict.fromkeys(part for text in claims for part in finer(text)))
    thoughts = "\n".join(
        (
            f"STEP 1: It states something. VerifiableSentence: {sentence.text}",
            f"STEP 2: DecontextualizedSentence: {clear}",
            f"STEP 3: Relationships: {', '.join(relations) or 'none'}.",
            f"STEP 4: Claims: {len(parts)}.",
        )
    )
    return SentenceTrace(sentence=sentence.text, span=sentence.span, claims=parts, thoughts=thoughts, note=BY_RULES)


BY_RULES = "by rules of English, in the format of the four steps"


def answer_of(trace: SentenceTrace) -> str:
    """The record in the format of a model's answer: `<think>...</think><output>[...]</output>`."""
    claims = json.dumps(list(trace.claims), ensure_ascii=False)
    return f"<think>\n{trace.thoughts}\n</think>\n<output>{claims}</output>"


# Step 2: the question's name for pronouns and short names

_ASKED = re.compile(
    r"\b(?:about|(?:biography|bio|life|profile|history|description|summary|overview|portrait) (?:of|for|on)"
    r"|(?:who|what|how)(?: exactly)? (?:is|was|are|were)|(?P<who>who)"
    r"|(?:when|where|why|how|what|which)(?: \w+){0,2} (?:did|does|has|had|is|was|were|will|would)"
    r"|^(?:did|does|has|had|is|was|were)) ",
    re.IGNORECASE,
)
_BEHIND = re.compile(r"(?:['’]s (?:life|biography|bio|career|work)\W*$)?(?!['’]|\w| (?:and|or|of)\b)")
_KIND_WORD = r"(?!(?:and|at|behind|by|for|from|in|of|on|or|to|with)\b)[a-z]+"
_LABEL = re.compile(r"^(?:question|q|prompt): *|\s*\([^)]*\)", re.IGNORECASE)
_OF_PERSON = re.compile(r"\b(?:who|biography|bio|born|die[ds]?|married|life)\b", re.IGNORECASE)
_GENDER = re.compile(r"(?P<he>he|his)\b|(?P<she>she|her)\b", re.IGNORECASE)
_SETTING = re.compile(
    r"(?:in|on|at|by|from|after|before|during|as of|until|since) [^,;:]{2,60}, (?=(?:he|she|it) )", re.IGNORECASE
)
_WITHIN = re.compile(r"(?<=[a-z] )(?:his|her)\b(?= [a-z])")
_SHORT = re.compile(r"[A-Z][\w'’-]*(?: [A-Z][\w'’-]*)*(?= [a-z])")
_MOST_ASKED = 400
"""Longest question, in characters, that is read."""


def asked_about(question: str) -> PronounTopic:
    """The person or thing that a question is about, if that is all it names.

    Examples:
        >>> asked_about("Tell me a bio of Ada Vale (painter).").noun
        'Ada Vale'
        >>> asked_about("Who was the mother of Ada Vale?").noun
        ''
    """
    text = _LABEL.sub("", question).strip()
    names = {re.sub(r"['’]s$|\.$", "", name) for name in proper_names(text)} if len(text) <= _MOST_ASKED else set()
    if len(names) != 1:
        return NOTHING
    (name,) = names
    whole = text.strip(" ?.!:") == name
    behind = next(filter(None, (_behind(text, match, name) for match in _ASKED.finditer(text))), None)
    if re.search(" (?:in|to|an?) ", name) or not (whole or behind):
        return NOTHING
    return PronounTopic(name, thing=True, person=not name.lower().startswith("the "))


def _behind(text: str, asked: re.Match[str], name: str) -> re.Match[str] | None:
    """The end of a name that the words of asking stand before, perhaps with its kind: "about the painter Ada Vale"."""
    end = r" (?:is|was)\b" if asked["who"] else ""
    return re.match(
        rf"(?:(?:the|my|your|our) (?:{_KIND_WORD} ){{1,3}})?{re.escape(name)}{end}{_BEHIND.pattern}",
        text[asked.end() :],
    )


def named(question: str, claims: Sequence[str]) -> list[str]:
    """A turn's claims with the name that its question asks about, where a pronoun or a short name can only mean it.

    "It" means it until a claim is about something else, "he" or "she" until a claim may be about someone else.

    Examples:
        >>> named("Tell me a bio of Ada Vale.", ["She was born in Oslo.", "Vale painted.", "Her son lives.", "He sings."])
        ['Ada Vale was born in Oslo.', 'Ada Vale painted.', "Ada Vale's son lives.", 'He sings.']
    """
    topic = asked_about(question)
    name, is_person, gender = topic.noun, _OF_PERSON.search(question) is not None, None
    topic = replace(topic, thing=not is_person)
    texts = []
    for claim in claims if name else ():
        text, pronoun = claim, _GENDER.search(claim[: _opening(claim) + 4])
        if not (gender and pronoun) or pronoun.lastgroup == gender:
            text = _with_name(claim, topic, name if is_person else "")
        if pronoun and text != claim:
            gender, is_person = pronoun.lastgroup, True
        topic = replace(topic, thing=topic.thing and not is_person)
        texts.append(text)
        if not (text.startswith(f"{name} ") or _OF_SPEAKERS.match(text) or f", {name} " in text):
            others = proper_names(_THIRD.sub("", text.replace(name, ""), count=1))
            topic = replace(topic, thing=False, person=topic.person and not others and not mentions_person(text))
    return texts or list(claims)


def _opening(claim: str) -> int:
    """Where a claim's subject begins, behind a time or place in front of a pronoun: "In 1930, she ..."."""
    setting = _SETTING.match(claim)
    return setting.end() if setting else 0


def _with_name(claim: str, topic: PronounTopic, person: str) -> str:
    """A claim with the topic for its opening pronoun; the `person` for parts of the name, and for "his" within."""
    start = _opening(claim)
    text = resolve_pronoun(claim[start:], topic)[0]
    part, words = _SHORT.match(text), person.split()
    own = part[0].split() if part else []
    behind = words_of(text[part.end() :])[:1] if part else []
    if len(own) < len(words) and behind and behind[0] not in words and own in (words[: len(own)], words[-len(own) :]):
        text = f"{person}{text[len(' '.join(own)) :]}"
    if (
        person
        and not text.startswith(person)
        and topic.person
        and not _GENDER.match(text)
        and not proper_names(text[:1].lower() + text[1:])
    ):
        text = _WITHIN.sub(f"{person}'s", text, count=1)
    return f"{claim[:start]}{text}"


def finer(claim: str) -> list[str]:
    """The parts of a claim, in order; the claim itself if no rule splits it.

    Examples:
        >>> finer("Ada Vale was born on 3 May 1901 in Oslo.")
        ['Ada Vale was born on 3 May 1901.', 'Ada Vale was born in Oslo.']
    """
    text = claim.rstrip(" .")
    if claim.rstrip().endswith(("?", "!")) or _KEEPS_WHOLE.search(text):
        return [claim]
    parts = [text]
    for rule in (
        _split_where,
        _split_relative,
        _split_who,
        _split_age,
        _split_list,
        _split_kinds,
        _split_loan,
        _split_event,
    ):
        parts = [part for piece in parts for part in rule(piece)]
    if len(parts) == 1 or len(parts) > _MOST or not content_words(text) <= content_words(" ".join(parts)) | _JOINTS:
        return [claim]
    return [finish_sentence(part, ()) for part in dict.fromkeys(parts)]


_JOINTS = content_words("who which that where also age he she it")
_MARKED = re.compile(r", (?:which|who|where|whose) ")
_WHO = re.compile(
    r"(?P<one>.+? (?:is|was) an? (?:(?!(?:who|which|that)\b)[\w'-]+ ){1,8}?)(?:who|which|that) (?P<verb>[\w']+)(?P<rest> .+)"
)
_SUBJECT = re.compile(r"(?P<subject>(?:[\w'’.()-]+ ){1,7}?)(?P<verb>is|was) ")
_HAS = re.compile(
    r"(?P<head>(?:[\w'’.-]+ ){1,6}?(?:has|have|had|includes?|included|contains?|contained|offers?|offered|serves?|served|"
    r"sells?|sold|features?|featured|comprises?|comprised) )(?P<items>[^;:()]+)"
)
_ITEM = r"(?:an?|the|two|three|four|five|six|seven|eight|nine|ten|several|many|\d[\d,.]*) [\w' -]+"
_ITEMS = re.compile(rf"{_ITEM}(?:, {_ITEM})*,? and {_ITEM}")
_AND = re.compile(r",? and |, ")
_KIND = re.compile(r"(?P<head>(?:[\w'’.-]+ ){1,6}?(?:is|was) )(?P<first>an? [^,;:]+?),? and (?P<second>an? [^,;:]+)")
_EVENT = re.compile(
    r"(?P<head>(?P<subject>[^,;:]{2,80}?) (?:(?:was|were) (?:first |originally |officially )?"
    r"(?:born|founded|built|established|released|published|opened|launched|completed|created|formed|elected|buried|discovered|"
    r"signed)|opened|died|married|premiered))(?P<tail> (?:in|on|at|by|near|to|as|under|for) .+)"
)
_TAIL = re.compile(r",? (?=(?:in|on|at|by|near|to) (?:\d|the |a |an |former |[A-Z]))")
_OTHER_DEED = re.compile(r"\b(?:who|which|that|where|between)\b| and (?P<verb>[a-z]\w+)")


_THIRD = re.compile(r"^(?:he|she|it|they|his|her|its|their)\b", re.IGNORECASE)


def _split_relative(claim: str) -> Iterator[str]:
    """ "V painted the hall, which opened in 1850": both, if the rules for asides find both."""
    inner = list(inner_statements(claim)) if _MARKED.search(claim) else []
    if (
        len(inner) > 1
        and not any(map(_THIRD.match, inner))
        and content_words(claim) <= content_words(" ".join(inner)) | _JOINTS
    ):
        yield from inner
    else:
        yield claim


def _split_who(claim: str) -> Iterator[str]:
    """ "V was a painter who lived in Oslo": "V was a painter", "V lived in Oslo"."""
    match = _WHO.fullmatch(claim)
    subject = _SUBJECT.match(claim)
    if match and subject and verb_index(["it", match["verb"], *words_of(match["rest"])]) == 1:
        yield match["one"].rstrip()
        yield f"{subject['subject']}{match['verb']}{match['rest']}"
    else:
        yield claim


_WHERE = re.compile(
    r"(?P<one>(?P<subject>(?:[\w'’.()-]+ ){1,7}?)(?P<verb>[a-z]\w+) (?:.*? )??"
    r"(?P<place>(?:the )?[A-Z][\w'’.-]*(?: (?:of |the ){0,2}[A-Z][\w'’.-]*)*))(?P<when> in \d{4})?,? where "
    r"(?:he|she|it|they) (?P<rest>[^,;:]+)"
)
_AGE = r"at (?:the )?age (?:of )?(?P<age>\d{1,2}|[a-z]+(?:-[a-z]+)?)"
_AGED = re.compile(rf"{_AGE}, (?P<rest>[^,;:]+)|(?P<first>[^,;:]+) {_AGE.replace('age>', 'late>')}", re.IGNORECASE)
_OF_GROUP = re.compile(r".*\bof (?P<group>the [^,;:]+?) (?:that|which|who) (?P<deed>[^,;:]+)")
_LOAN = re.compile(
    r"(?P<one>(?P<subject>(?:[\w'’.()-]+ ){1,7}?)(?P<verb>[a-z]\w+) [^,;:]+), (?P<state>on loan|under contract|in exile) "
    r"(?P<rest>[^,;:]+)"
)
_BOTH = re.compile(
    r"(?P<first>(?:the )?(?:[\w'’-]+ ){0,4}[A-Z][^,;:]*?) and (?P<second>(?:the )?(?:[a-z'’-]+ ){0,4}[A-Z][^,;:]*)"
)


def _split_where(claim: str) -> Iterator[str]:
    """ "V studied at the Tide School where she won a prize": "V studied ...", "V won a prize at the Tide School"."""
    match = _WHERE.fullmatch(claim)
    if not match or not _has_subject(claim, match):
        yield claim
        return
    place = match["place"]
    joint = re.search(r"\b(?P<word>in|at|on) $", match["one"].removesuffix(place))
    where = joint["word"] if joint else "at" if place.startswith("the ") or " of " in place else "in"
    yield f"{match['one']}{match['when'] or ''}"
    yield f"{match['subject']}{match['rest']} {where} {place}"


def _split_age(claim: str) -> Iterator[str]:
    """ "At age 17, V was the youngest of the team that won the cup": what V was, and how old when they won it."""
    match = _AGED.fullmatch(claim)
    rest = (match["rest"] or match["first"]) if match else ""
    words = words_of(rest)
    verb = verb_index(words)
    if not match or not verb or not is_past(words[verb]):
        yield claim
        return
    group = _OF_GROUP.fullmatch(rest)
    when = f"{group['group']} {group['deed']}" if group else rest
    yield f"{' '.join(words[:verb])} was {match['age'] or match['late']} years old when {when}"
    yield rest


def _split_loan(claim: str) -> Iterator[str]:
    """ "V plays for the Gulls, on loan from the Terns": both."""
    match = _LOAN.fullmatch(claim)
    if not match or not _has_subject(claim, match):
        yield claim
        return
    be = "was" if is_past(match["verb"]) else "is"
    yield match["one"]
    yield from (f"{match['subject']}{be} {match['state']} {part}" for part in _each(match["rest"]))


def _each(phrase: str) -> Iterator[str]:
    """ "from the Terns and the Larks": each with the preposition, if both are named."""
    preposition, _, rest = phrase.partition(" ")
    both = _BOTH.fullmatch(rest) if preposition in ("from", "to", "with") else None
    yield from (f"{preposition} {both[part]}" for part in ("first", "second")) if both else (phrase,)


def _has_subject(claim: str, match: re.Match[str]) -> bool:
    """True if the rule's verb is the claim's."""
    words = words_of(claim)
    index = verb_index(words) or finite_verb(words)
    return index is not None and words[index] == match["verb"] and len(words_of(match["subject"])) == index


def _split_list(claim: str) -> Iterator[str]:
    """ "The museum has a garden, a library and a cafe": one by one."""
    match = _HAS.fullmatch(claim)
    if not match or not _ITEMS.fullmatch(match["items"]) or _has_clause(match["items"]):
        yield claim
        return
    yield from (f"{match['head']}{item}" for item in _AND.split(match["items"]))


def _split_kinds(claim: str) -> Iterator[str]:
    """ "V was a contestant in ... and a finalist in ...": both."""
    match = _KIND.fullmatch(claim)
    if not match or _has_clause(match["first"]) or _has_clause(match["second"]):
        yield claim
        return
    yield f"{match['head']}{match['first']}"
    yield f"{match['head']}{match['second']}"


def _has_clause(text: str) -> bool:
    return (
        finite_verb(words_of(text)) is not None or re.search(r"\b(?:who|which|that|where|between)\b", text) is not None
    )


def _split_event(claim: str) -> Iterator[str]:
    """ "V was born on 3 May in Oslo": day and place apart. Only for one-time events: others may have several of each."""
    event = _EVENT.fullmatch(claim)
    parts = _TAIL.split(event["tail"]) if event else []
    parts = [part.strip(" ,") for part in parts if part.strip(" ,")]
    if event and event["head"].endswith(" born"):
        parts = [parent for part in parts for parent in (_each(part) if part.startswith("to ") else (part,))]
    if event is None or len(parts) < 2 or any(_is_other_deed(match) for match in _OTHER_DEED.finditer(event["tail"])):
        yield claim
        return
    yield from (f"{event['head']} {part}" for part in parts)


def _is_other_deed(joint: re.Match[str]) -> bool:
    """ "in the 1st century and restored in 1850" """
    return joint["verb"] is None or can_be_verb(joint["verb"])
