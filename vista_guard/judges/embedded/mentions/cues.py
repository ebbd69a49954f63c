"""Words that take away that their clause is stated: adverbs, modals, plans, near misses, suppositions, fiction, sources."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vista_guard.judges.embedded.english.words import any_of, is_past, is_verb
from vista_guard.judges.embedded.mentions.denials import disowned, speaks_of_neighbour, taken_back
from vista_guard.judges.embedded.mentions.words import (
    AUTHORITIES,
    IDEAS,
    SAYING,
    STRANGERS,
    THINKING,
    MentionKind,
    Region,
    holder,
    is_clause,
)

_I = re.IGNORECASE
_STORY = any_of(
    r"""novels?, films?, movies?, stor(?:y|ies), tales?, plays?, (?:video )?games?, poems?, legends?, myths?, dreams?,
        fairy tales?, comics?, fantas(?:y|ies), parod(?:y|ies), sketch(?:es)?, jokes?, fiction, simulations?,
        cartoons?, sitcoms?, musicals?, operas?, ballads?, alternat(?:e|ive)
        (?:history|histories|timelines?|universes?|worlds?), daydreams?, imagination, satires?, sagas?, screenplays?,
        scripts?, thought experiments?, role-?plays?, fan fictions?"""
)

_FORWARD: tuple[tuple[MentionKind, re.Pattern[str]], ...] = (
    (
        MentionKind.REPORTED,
        re.compile(
            r"\b(?:allegedly|reportedly|supposedly|purportedly|ostensibly|rumou?redly|seemingly|apparently"
            r"|purported|alleged|so-called"
            r"|wrongly|falsely|mistakenly|erroneously"
            r"|(?:is|was|are|were|been|be)\s+(?:\w+\s+)?(?:said|believed|thought|rumou?red|alleged|reported"
            r"|claimed|supposed|assumed|suspected|presumed|held|reputed|feared) to\s"
            r"|(?:seem|appear)(?:s|ed)? to)\b",
            _I,
        ),
    ),
    (
        MentionKind.SUPPOSED,
        re.compile(
            r"\b(?:possibly|perhaps|maybe|presumably|conceivably|hypothetically|theoretically|in theory"
            r"|(?:would|could|should|might|may|ought to)(?:n't| not| well| \w+ly)? have\s"
            r"|(?<!there )(?<!you )might\b(?! (?:also|want|be able))|unless\b|lest\b|in case\b|as (?:if|though)\b)",
            _I,
        ),
    ),
    (
        MentionKind.PLANNED,
        re.compile(
            r"\b(?:(?:is|was|are|were|been|be)\s+(?:\w+\s+)?(?:planned|scheduled|meant|intended|set|slated"
            r"|proposed|expected|projected|forecast|due|hoped|going|about) to\s"
            r"|(?:was|were) to (?!\w+ (?:of|the)\b)(?=\w)"
            r"|(?<!you )(?<!we )(?<!^)(?<!may )(?<! or )(?:plan|hope|want|intend|aim|wish|seek|expect|promise|vow"
            r"|threaten|consider|propos)(?:s|es|ed|d|ing|ned|ning)?\s+(?:to\s|\w+ing\b)|sought to\s"
            r"|(?:plans|proposals?|bids?|campaigns?|calls|ambitions?|hopes|desire|intentions?|petitions?"
            r"|a (?:plan|hope|dream|promise)) to\s)",
            _I,
        ),
    ),
    (
        MentionKind.NEARLY,
        re.compile(
            r"\b(?:(?:try|tries|tried|trying|attempt\w*|fail\w*|refus\w+|declin\w+|neglect\w*|forgot|struggl\w+)\s+to\s"
            r"|came close to|come close to|(?:on|to) the (?:verge|brink|point) of|stop(?:s|ped)? short of"
            r"|just short of|all but\s(?=\w+ed\b)"
            r"|short of\s(?=\w+ing\b)|instead of\s(?=\w+ing\b)|rather than\s(?=\w+ing\b)|prevented from|kept from"
            r"|barred from|without (?:ever |\w+ly )?(?=\w+ing\b))",
            _I,
        ),
    ),
)
_MISSED = re.compile(
    r"fail|refus|declin|neglect|forgot|c[ao]me close|(?:on|to) the|stop|just short|all but|\w+ from", _I
)
"""Of these what the sentence says did not happen; "without paying" and "rather than walking" tell how something else did."""
_ALMOST = re.compile(r"\b(?:almost|nearly|narrowly|practically|virtually|as good as)\s+(?P<word>[\w'-]+)", _I)
_NO_VERB = re.compile(
    r"(?:all|always|every\w*|never|no\w*|as|half|exactly|certain\w*|identical\w*|entire\w*|any\w*|a|an|the|\d.*)$", _I
)

_SUPPOSE = re.compile(
    r"^(?:so |now |let us |let's |just |please |for a moment,? )*(?:suppos(?:e|ing)|imagin(?:e|ing)"
    r"|assum(?:e|ing)|pretend|picture|say|what if|if only|had (?:we|i|you|he|she|it|they|the|someone"
    r"|somebody|anyone)"
    r"|were (?:it|he|she|they|the|we)|should (?:it|he|she|they|the|we|you)|let us (?:say|assume|suppose|imagine|pretend))\b",
    _I,
)
_IF = re.compile(
    r"(?:^|(?<=[,;:(] )|(?<=\bbut )|(?<=\band ))(?:even |only |as )?(?:if|unless|provided|assuming"
    r"|supposing|in case|on condition)\b(?! (?:you|i) (?:wonder|ask|must know|like)\b|\s+so\b)",
    _I,
)
_IN_STORY = re.compile(
    r"(?:^|[,;(—–-]\s*|\b(?:as|but|and) )(?:only |as )?(?:in|on|within|throughout|according to"
    rf"|per)\s+(?:(?!,)[\w'’\"-]+\s+){{0,5}}?{_STORY}\b",
    _I,
)
_STORY_TELLS = re.compile(
    rf"\b{_STORY}\b(?:[^,;.]{{0,40}}?)\b(?:has it|goes|says?|said|tells?|told|imagin\w+|describ\w+|claims?"
    r"|relates?|recounts?|portray\w*|depict\w*|pretend\w*|shows?|reveals?|reads?|opens with)\b"
    r"|\b(?:hero|heroine|protagonist|narrator|villain|main character|fictional|fictitious|imaginary|make-believe)\b",
    _I,
)
_ACCORDING = re.compile(
    r"(?:^|,\s*|\b)according to (?P<who>[^,;]{1,80}?)(?=,|;|[.!]?$)|\b(?:in"
    r"|on) (?P<whose>[\w' -]{1,40}?(?:'s|'|his|her|their)) (?:\w+ )?(?:view|opinion|account|version"
    r"|telling|eyes|mind|estimation|reading)\b",
    _I,
)
_TAIL = re.compile(
    r",\s*(?:or )?(?:so |as |at least |or )?(?P<who>(?!\s|and |but |who |which |that |while "
    rf"|so )[^,;]{{0,50}}?)\b(?P<word>{THINKING.pattern}|{SAYING.pattern}|goes|has it|have it)\b(?: (?:in"
    rf"|on|at|to|with|yesterday|later|today|then|\w+day)\b[^,;]{{0,30}})?$|,\s*(?:allegedly|supposedly"
    r"|reportedly|perhaps|maybe|possibly|presumably|if (?:you|we|one|he|she|they|the|rumou?rs?)\b[^,]*)$",
    _I,
)
_QUOTED = re.compile(
    r"(?<![\w\"“])[\"“](?=[^\s\"])(?P<said>[^\"“”]{12,400}?)(?<=\S)[\"”](?![\w\"])"
    r"|(?<!\w)'(?=\w)(?P<single>[^']{12,400}?)(?<=\S)'(?!\w)"
)
_INVERTED = re.compile(
    rf",[\"”]?\s*(?P<word>{THINKING.pattern}|{SAYING.pattern}) (?P<who>(?:the|an?|his|her|their|our|my|one"
    rf"|some|[A-Z])[^,;:]{{0,60}})$",
    _I,
)
_AS_SAID = re.compile(
    rf"^as (?!(?:you|we)\b)(?P<who>[^,]{{1,60}}?) (?P<word>{SAYING.pattern}|{THINKING.pattern}|has it|have it)\b[^,]{{0,40}},",
    _I,
)
_CHOICE = re.compile(
    r"\(?\b[aA1][.)]\)?\s*(?:right|true|yes|correct)\b.*\b(?:wrong|false|no|incorrect)\b"
    r"|\b(?:true or false|fact or fiction|right or wrong|yes or no)\b",
    _I,
)


def cues(said: str) -> Iterator[Region]:
    """The clauses that a word of theirs takes back, and sentences that are no statement as a whole."""
    yield from _whole(said)
    for kind, pattern in _FORWARD:
        for match in pattern.finditer(said):
            who = holder(said[: match.start()]) if kind is MentionKind.REPORTED else frozenset()
            missed = _MISSED.match(match[0])
            inner = f"{said[: match.start()]}{said[match.end() :]}" if missed else ""
            yield Region(match.start(), len(said), kind, who, inner=inner)
    for match in _ALMOST.finditer(said):
        word = match["word"]
        if not _NO_VERB.match(word) and (is_verb(word) or is_past(word) or word.endswith("s")):
            inner = f"{said[: match.start()]}{said[match.start('word') :]}"
            yield Region(match.start(), len(said), MentionKind.NEARLY, inner=inner)
    for match in _IF.finditer(said):
        yield Region(match.start(), len(said), MentionKind.SUPPOSED)
    for match in _QUOTED.finditer(said):
        yield from _quotation(said, match)


def _whole(said: str) -> Iterator[Region]:
    """Cues that retract the sentence from its start."""
    every = len(said)
    if _SUPPOSE.match(said):
        yield Region(0, every, MentionKind.SUPPOSED)
    if _CHOICE.search(said):
        yield Region(0, every, MentionKind.ASKED)
    if _IN_STORY.search(said) or _STORY_TELLS.search(said):
        yield Region(0, every, MentionKind.FICTION)
    disclaimed = disowned(said)
    if disclaimed:
        yield Region(every - len(disclaimed), every, MentionKind.DENIED, denies=True, inner=disclaimed)
    by = _AS_SAID.match(said) or _INVERTED.search(said.rstrip(".! "))
    if by and not (SAYING.fullmatch(by["word"]) and AUTHORITIES.search(by["who"]) and not STRANGERS.search(by["who"])):
        yield Region(0, every, MentionKind.REPORTED, holder(by["who"]))
    for match in _ACCORDING.finditer(said):
        who = match["who"] or match["whose"]
        if match["whose"] or not _is_trusted(who):
            yield Region(0, every, MentionKind.REPORTED, holder(who))
    tail = _TAIL.search(said.rstrip(".! "))
    if tail and not (
        tail["word"]
        and SAYING.fullmatch(tail["word"])
        and AUTHORITIES.search(tail["who"])
        and not STRANGERS.search(tail["who"])
    ):
        yield Region(0, every, MentionKind.REPORTED, holder(tail["who"] or ""))
    back = taken_back(said)
    if back:
        yield Region(0, every, MentionKind.DENIED, denies=True, inner=_told(back))


_TOLD = re.compile(
    rf"(?:^|\b(?:{THINKING.pattern}|{SAYING.pattern}|{IDEAS.pattern}|hear|heard|read|has it|list)\b(?: you| us| me)?,? )"
    r"(?:(?:\w+ )?that )(?P<told>.+)"
    rf"|\b(?:{THINKING.pattern}|{SAYING.pattern}) (?P<bare>.+)",
    _I,
)


def _told(said: str) -> str:
    """What somebody says, of "Many believe X"; else all of it."""
    told = _TOLD.search(said)
    inner = (told["told"] or told["bare"]) if told else ""
    return inner if is_clause(inner) else said


def _quotation(said: str, match: re.Match[str]) -> Iterator[Region]:
    """Quoted text that is no name or term: four words or more."""
    quoted = match["said"] or match["single"]
    if len(quoted.split()) < 4 or not is_clause(quoted):
        return
    rest = said[: match.start()] + " " + said[match.end() :]
    untrue = speaks_of_neighbour(rest.strip())
    if untrue or not (rest.strip(" .,:;!?") == "" or (AUTHORITIES.search(rest) and not STRANGERS.search(rest))):
        yield Region(
            match.start(),
            match.end(),
            MentionKind.DENIED if untrue else MentionKind.REPORTED,
            holder(rest),
            untrue,
            inner=quoted,
        )


def _is_trusted(who: str) -> bool:
    """True if "according to" names an authority, or somebody by name."""
    if STRANGERS.search(who) or re.search(rf"\b{IDEAS.pattern}\b", re.sub(r"\breports?\b", "", who), _I):
        return False
    return AUTHORITIES.search(who) is not None or re.search(r"\b[A-Z]", who) is not None
