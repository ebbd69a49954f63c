"""Clauses that another word governs: "the rival claims that ...", "no proof that ...", "asked whether ..."."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vista_guard.judges.embedded.english.words import is_verb, word_set
from vista_guard.judges.embedded.mentions.kinds import Kind, Region, holder, is_clause
from vista_guard.judges.embedded.mentions.words import (
    AUTHORITIES,
    DOUBTING,
    FACTS,
    IDEAS,
    NEGATION,
    OPEN_VERBS,
    SAYING,
    STATING,
    STRANGERS,
    SURE,
    THINKING,
    UNSURE,
    UNTRUE,
)

_I = re.IGNORECASE
_THAT = re.compile(
    r"\b(?P<word>[\w'-]+)(?:\s+(?:to\s+)?(?:us|me|him|her|them|you|it|everyone|people|himself|herself"
    r"|itself))?,?\s+that\s+(?=\S)",
    _I,
)
_LATER_THAT = re.compile(
    rf"\b(?P<word>{THINKING.pattern}|{IDEAS.pattern}|{OPEN_VERBS.pattern})(?: \w+){{1,4}} that\s+(?=(?:the"
    r"|an?|it|he|she|they|we|no|all|[A-Z]\w*)\b)"
)
"""A thought and its "that", with something in between: "dreamt one night that"."""
_WELCOME = re.compile(r"\b(?:interested|pleased|happy|glad|surprised|delighted|relieved|good) to$", _I)
_FEW_KNOW = re.compile(r"\b(?:not many|not every\w*|few|hardly any\w*|not all)\b[^,]*$", _I)
_IS_THAT = re.compile(
    r"\b(?:is|was|being|be|'s)\s+(?:\w+ly\s+)?(?P<word>[^,;:]{2,60}?)\s+(?:that|to (?:think|say|believe|claim)(?: that)?)\s+",
    _I,
)
_WHETHER = re.compile(
    r"\b(?!regardless|matter)(?:[\w']+\s+)?(?<!regardless of )(?<!no matter )(?:whether|as (?:if"
    r"|though))\b|\b(?:ask\w*|wonder\w*|know|see|check\w*|sure|unclear|doubt\w*) if\b",
    _I,
)
_BARE = re.compile(
    rf"\b(?P<word>{THINKING.pattern}|says?|said)\b,?\s+(?P<rest>[\"“']?(?:the|an?|it|he|she|they|we|I|this"
    r"|these|those|its|his|her|their|there|all|no|[A-Z0-9][\w'-]*)\s.+)"
)
_THAT_SUBJECT = re.compile(
    rf"^[\"“']?That\s+(?P<said>.+?)\s+(?:is|was|has been)\s+(?:\w+ly\s+|not\s+)?(?:{UNTRUE.pattern}|{UNSURE.pattern}|true)\b",
    _I,
)
_RELATIVE = re.compile(r"(?:is|was|were|are|has|have|had|can|will|would|could|may|might|did|does|do)\b", _I)
_SUBJECT = re.compile(r"(?:the|an?|this|these|those|its|his|her|their|our|my|all|no|every)\b|[A-Z]")
_LINKING = word_set(
    """so such now in given except only but seeing granted considering like all everything anything it way time day out and or
    yesterday
    today confidence certainty surprising surprise satisfied important remarkable interesting notable fortunate pity shame
    good great
    fine worth holds lucky natural sad strange odd significant"""
)
"""Words before a "that" which states, or which begins a relative clause."""
_WINDOW = 70
"""Characters before a verb in which a negation can take back what it states."""


def complements(said: str) -> Iterator[Region]:
    """The governed clauses that the sentence does not state, from the governing word to the sentence's end."""
    for match in _IS_THAT.finditer(said):
        yield from _adjective(said, match)
    for match in _THAT.finditer(said):
        if not _RELATIVE.match(said, match.end()):
            yield from _governed(said, match)
    for match in _LATER_THAT.finditer(said):
        yield Region(match.start(), len(said), Kind.REPORTED, holder(said[: match.start()]))
    for match in _WHETHER.finditer(said):
        yield Region(match.start(), len(said), Kind.SUPPOSED)
    bare = _BARE.search(said)
    if bare and is_clause(bare["rest"]) and not _stated_by(said[: bare.start()], bare["word"]):
        yield Region(bare.start(), len(said), Kind.REPORTED, holder(said[: bare.start()]))
    subject = _THAT_SUBJECT.match(said)
    if subject and not subject[0].lower().endswith(" true"):
        yield Region(0, subject.end(), Kind.DENIED, denies=UNTRUE.search(subject[0]) is not None)


def _adjective(said: str, match: re.Match[str]) -> Iterator[Region]:
    """ "It is false that ..." and its kin."""
    word, before = match["word"], said[: match.start("word")]
    negated = NEGATION.search(before[-_WINDOW:] + word) is not None
    if re.search(rf"\b{UNTRUE.pattern}\b", word, _I):
        if not negated:
            yield Region(match.start(), len(said), Kind.DENIED, denies=True)
    elif re.search(rf"\b{UNSURE.pattern}\b", word, _I):
        yield Region(match.start(), len(said), Kind.SUPPOSED)
    elif re.search(rf"\b(?:{SURE.pattern}|case|so)\b", word, _I) and negated:
        yield Region(
            match.start(),
            len(said),
            Kind.DENIED,
            denies=re.search(r"\b(?:true|case|correct|so)\b", word, _I) is not None,
        )


def _governed(said: str, match: re.Match[str]) -> Iterator[Region]:
    """ "The rival claims that ...", "no proof that ...": nothing for what states it."""
    word, before = match["word"], said[max(0, match.start() - _WINDOW) : match.start()]
    before = re.split(r"[;:]|, (?:but|and)\b", before)[-1]
    negated = NEGATION.search(before) is not None
    if (DOUBTING.fullmatch(word) and negated) or _WELCOME.search(before.rstrip()):
        return
    if STATING.fullmatch(word) or FACTS.fullmatch(word):
        if (negated and not _FEW_KNOW.search(before)) or _imagined(before):
            yield Region(match.start(), len(said), Kind.REPORTED, holder(before))
        return
    if SURE.fullmatch(word) or UNTRUE.fullmatch(word) or UNSURE.fullmatch(word):
        return
    if word.lower() in ("is", "was", "be", "are", "were"):
        if re.search(rf"\b{IDEAS.pattern}\b", before, _I):
            yield Region(match.start(), len(said), Kind.REPORTED, holder(before))
        return
    if SAYING.fullmatch(word) and not negated and _stated_by(before, word):
        return
    if any(known.fullmatch(word) for known in (SAYING, THINKING, OPEN_VERBS, IDEAS, DOUBTING)) or (
        is_verb(word)
        or (_SUBJECT.match(said, match.end()) and word.lower() not in _LINKING and not word.endswith("ly"))
    ):
        yield Region(match.start(), len(said), Kind.REPORTED, holder(before))


def _stated_by(before: str, word: str) -> bool:
    """Whether an authority says it."""
    near = re.split(r"[,;:]", before)[-1]
    if STRANGERS.search(near) or NEGATION.search(near) or _imagined(near):
        return False
    return SAYING.fullmatch(word) is not None and AUTHORITIES.search(near) is not None


def _imagined(before: str) -> bool:
    return (
        re.search(
            r"\b(?:hero|heroine|protagonist|narrator|villain|character|detective in|novel|film|movie)\w*\b", before, _I
        )
        is not None
    )
