"""Clauses that another word governs ("the rival claims that ...", "no proof that ..."), and questions with their answers.

Splits one sentence into stated, mentioned and denied parts, by rules over its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from vista_guard.judges.embedded.english.verbs import words_of
from vista_guard.judges.embedded.english.words import ASKED_IF_KNOWN, any_of, is_past, is_verb, word_set
from vista_guard.judges.embedded.mentions.cues import (
    AUTHORITIES,
    DENYING,
    FACTS,
    IDEAS,
    LEFT_OVER,
    NEGATION,
    OPEN_VERBS,
    SAYING,
    STATING,
    STRANGERS,
    SURE,
    THINKING,
    UNSURE,
    MentionKind,
    Region,
    SentenceReading,
    cues,
    denies,
    holder,
    is_clause,
    speaks_of_neighbour,
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
_WHETHER = re.compile(
    r"\b(?!regardless|matter)(?:[\w']+\s+)?(?<!regardless of )(?<!no matter )(?:whether|as (?:if"
    r"|though))\b|\b(?:ask\w*|wonder\w*|know|see|check\w*|sure|unclear|doubt\w*) if\b",
    _I,
)
_BARE = re.compile(
    rf"\b(?P<word>{THINKING.pattern}|says?|said)\b,?\s+(?P<rest>[\"“']?(?:the|an?|it|he|she|they|we|I|this"
    r"|these|those|its|his|her|their|there|all|no|[A-Z0-9][\w'-]*)\s.+)"
)
_RELATIVE = re.compile(r"(?:is|was|were|are|has|have|had|can|will|would|could|may|might|did|does|do)\b", _I)
_SUBJECT = re.compile(r"(?:the|an?|this|these|those|its|his|her|their|our|my|all|no|every)\b|[A-Z]")
_LINKING = word_set(
    """so such now in given except only but seeing granted considering like all everything anything it way time day
        out and or yesterday today confidence certainty surprising surprise satisfied important remarkable interesting
        notable fortunate pity shame good great fine worth holds lucky natural sad strange odd significant"""
)
"""Words before a "that" which states, or which begins a relative clause."""
_FRAME = re.compile(r"[;:]|, (?:but|and|so)\b|(?<=\w), ")
_OF_TRUTH = re.compile(rf"{DENYING.pattern}|\b(?:true|case|correct|so|right|said)\b", _I)
_IMPERSONAL = re.compile(r"\bit(?:'s| is| was| has been| would be| being)\b", _I)
_FACTIVE = re.compile(
    r"\b(?:know\w*|knew|reali[sz]\w+|aware|notic\w+|remember\w*|mention\w*|overlook\w*|stress|emphasi\w+|surpris\w+|sure|certain|clear"
    r"|strange|odd|whether|can't believe|cannot believe|(?:may|might|could)(?! be said))\b",
    _I,
)
"""What a negation leaves standing ("did not know that"), or open ("not sure that")."""
_WINDOW, _MOST_FRAME = 70, 160
"""Characters before a verb in which a negation can take back what it states."""


def complements(said: str) -> Iterator[Region]:
    """The governed clauses that the sentence does not state, from the governing word to the sentence's end."""
    for match in _THAT.finditer(said):
        if not _RELATIVE.match(said, match.end()):
            yield from _governed_regions(said, match)
    for match in _LATER_THAT.finditer(said):
        yield _reported(said, match.start(), match.end())
    for match in _WHETHER.finditer(said):
        yield Region(match.start(), len(said), MentionKind.SUPPOSED)
    bare = _BARE.search(said)
    if bare and is_clause(bare["rest"]) and not _is_authority(said[: bare.start()], bare["word"]):
        yield _reported(said, bare.start(), bare.start("rest"))


def _governed_regions(said: str, match: re.Match[str]) -> Iterator[Region]:
    """ "The rival claims that ...", "no proof that ...": nothing for what states it."""
    word, before = match["word"], said[max(0, match.start() - _WINDOW) : match.start()]
    before = re.split(r"[;:]|, (?:but|and)\b", before)[-1]
    negated = NEGATION.search(before) is not None
    region = _reported(said, match.start(), match.end())
    if _WELCOME.search(before.rstrip()) or (DENYING.fullmatch(word) and not region.doubts):
        return
    if region.denies:
        yield region
        return
    if STATING.fullmatch(word) or FACTS.fullmatch(word):
        if (negated and not _FEW_KNOW.search(before)) or _is_imagined(before):
            yield region
        return
    if UNSURE.fullmatch(word) or (SURE.fullmatch(word) and negated):
        yield replace(region, kind=MentionKind.SUPPOSED)
    if SURE.fullmatch(word) or UNSURE.fullmatch(word):
        return
    if word.lower() in ("is", "was", "be", "are", "were"):
        if re.search(rf"\b{IDEAS.pattern}\b", before, _I):
            yield region
        return
    if SAYING.fullmatch(word) and not negated and _is_authority(before, word):
        return
    if any(known.fullmatch(word) for known in (SAYING, THINKING, OPEN_VERBS, IDEAS, DENYING)) or (
        is_verb(word)
        or (_SUBJECT.match(said, match.end()) and word.lower() not in _LINKING and not word.endswith("ly"))
    ):
        yield region


_NO_DENIAL = re.compile(
    r"\b(?:were it|if it (?:were|was)) not for\b|\bnothing \w+ (?:me|us)\b"
    r"|^\W*(?:is|are|was|were|do|does|did|has|have|had|would|could|should|can|wo|ai)n['’]t\b|\bmore than\b"
    r"|\b(?:can(?:not| not|['’]t)|could(?: not|n['’]t)) (?:tell|reveal|share|disclose|discuss|promise)\b",
    re.IGNORECASE,
)
"""Negations that deny nothing of what follows: "Isn't it odd that X?", "I can't say more than that X", "I can't tell you X"."""


def _reported(said: str, start: int, inner: int) -> Region:
    """The clause from its governing word on, and whether the sentence ("it is false that"), or who tells of it, denies it."""
    frame = _FRAME.split(said[max(0, inner - _MOST_FRAME) : inner])[-1]
    open_or_known = _CONDITION.match(frame) or (_FACTIVE.search(frame) and not DENYING.search(frame))
    doubts = denies(frame) and not open_or_known and not _NO_DENIAL.search(frame)
    flatly = doubts and _IMPERSONAL.search(frame) is not None and _OF_TRUTH.search(frame) is not None
    kind = MentionKind.DENIED if flatly else MentionKind.REPORTED
    return Region(start, len(said), kind, holder(said[:start]), flatly, doubts, said[inner:])


def _is_authority(before: str, word: str) -> bool:
    """True if an authority says it."""
    near = re.split(r"[,;:]", before)[-1]
    if STRANGERS.search(near) or NEGATION.search(near) or _is_imagined(near):
        return False
    return SAYING.fullmatch(word) is not None and AUTHORITIES.search(near) is not None


def _is_imagined(before: str) -> bool:
    return (
        re.search(
            r"\b(?:hero|heroine|protagonist|narrator|villain|character|detective in|novel|film|movie)\w*\b", before, _I
        )
        is not None
    )


_LABEL = re.compile(
    r"^\W*(?:(?:q\d*|question|faq|frequently asked|asked|visitors? ask|quiz)\b[^:?]{0,20}[:.)]\s*)+", _I
)
_ANSWER_LABEL = re.compile(r"^\W*(?:a|answer|reply|response)\s*(?:\d+\s*)?[:.)]\s*", _I)
_YES = re.compile(
    r"(?:"
    + any_of(
        """yes, yeah, yep, yup, indeed, correct, certainly, absolutely, of course, sure, right, true, exactly,
        definitely, that is (?:right|so|correct|true)"""
    )
    + r"|(?:it|he|she|they|this|we) (?:really |certainly |indeed )?(?:does|did|do|is|was|are|were|has|have)\b(?=\W|$))"
    r"(?=\W|$)(?! (?:not|n't|never|a (?:myth|lie|joke)|untrue|false|unclear|unknown))(?! \w+ing\b)",
    _I,
)
_NO = re.compile(
    any_of(
        """no, nope, nah, not, never, unfortunately not, sadly not, of course not, certainly not, by no means, false,
        wrong, untrue, incorrect, (?:it|he|she|they|this|that|we) (?:\\w+
        )?(?:(?:does|did|do|is|was|are|were|has|have)(?: not|n't)|never), that is (?:not|false|wrong|untrue)"""
    )
    + r"\b",
    _I,
)
_NOBODY = re.compile(
    r"\W*(?:nobody|no one|none|never|nothing|nowhere|unknown|not|no|it (?:never|did not|didn't|was not"
    r"|wasn't)|we do not|we don't|i do|i don)\b",
    _I,
)
_YES_OR_NO = re.compile(
    r"(?:and |but |so |or )?(?P<aux>do|does|did|am|is|are|was|were|have|has|had|can|could|will|would"
    r"|should|must)(?:n't)?\s+(?P<rest>.+)",
    _I,
)
_SUPPOSES = re.compile(r"\b(?:would|could|might)\b.*\bif\b|\bif\b.*\b(?:would|could|might)\b", re.IGNORECASE)
"""What asks for the outcome of a thing that is not so: the sentence behind it answers something else."""
_OPEN = re.compile(
    r"(?:(?:in|at|on|for|from|to|with|by|of|since|until) )?(?:what|who|whom|whose|where|when|which"
    r"|how (?:long|much|many|far|big|tall|old|heavy|often|high|deep|wide|fast))\b",
    _I,
)
_TAIL = re.compile(
    r",\s*(?:right|correct|(?:is|are|was|were|do|does|did|has|have)(?:n't)? (?:it|he|she|they|there|not))\s*$", _I
)


def question(said: str) -> str:
    """The question in a sentence, without label and question mark; empty if there is none."""
    bare = said.strip().rstrip("\"'”’)* ")
    return _LABEL.sub("", bare).rstrip("? ") if bare.endswith("?") else ""


def statement_of_question(asked: str) -> str:
    """The statement that a question of yes or no asks for, its auxiliary dropped; nothing for any other question."""
    match = _YES_OR_NO.fullmatch(asked)
    if match is None:
        return "" if _OPEN.match(asked) or re.match(r"(?:why|how|if|or)\b", asked, _I) else _TAIL.sub("", asked)
    return match["rest"]


def is_open(asked: str) -> bool:
    """True if it asks for a value of a fact: when, who, how long. "Why" presupposes its statement, so it is not open."""
    return _OPEN.match(asked) is not None and not _SUPPOSES.search(asked)


def answer(said: str) -> str:
    """The answer after a question, without its label."""
    return _ANSWER_LABEL.sub("", said).strip()


def agrees(said: str) -> bool:
    """True if an answer begins with yes."""
    return _YES.match(answer(said)) is not None


def declines(said: str) -> bool:
    """True if an answer begins with no."""
    return _NO.match(answer(said)) is not None or speaks_of_neighbour(answer(said))


def names_nothing(said: str) -> bool:
    """True if the answer to an open question is that there is none."""
    return _NOBODY.match(answer(said)) is not None


_MOST = 1200
"""Characters of a sentence that are read for frames. Of a longer one its beginning is: a verifier reads no more of it either."""
_FRONTED = re.compile(
    r"^(?:but |and )?(?:although|though|even|while|whereas|contrary to|despite|in spite of|if|unless"
    r"|whatever|when|as|assuming|provided)\b",
    _I,
)
_CONDITION = re.compile(r"^(?:but |and |even |only )*(?:if|unless|assuming|provided)\b", _I)
_FRAME_RELATIVE = re.compile(r",\s*(?:which|who|where|as)\s+(?:\w+\s+){0,3}$", _I)
_NEXT = re.compile(
    r";|,? but (?=(?:the|an?|it|he|she|they|we|in|no|this|that|[A-Z]\w*)\b)|,? (?:whereas|although|though|yet) (?=\w)"
)
_MODAL = re.compile(r"\b(?:would|could|might|may)\b", _I)
_SPACES = re.compile(r"\s+")
_CONTENT = re.compile(r"[^\W\d_]{2,}|\d+")


@lru_cache(maxsize=4096)
def read(said: str) -> SentenceReading:
    """A sentence, cleaned of markup, as what it states and what it mentions. Runs of spaces count as one: patterns that look for
    words between them would begin anew at each."""
    said = _SPACES.sub(" ", said)
    if len(said) > _MOST:
        begun = read(said[:_MOST])
        return replace(begun, said=said, stated=begun.stated if begun.regions else said)
    regions = tuple(_bounded_region(said, region) for region in (*complements(said), *cues(said)))
    if said.rstrip("\"'”’) ").endswith("?") and not ASKED_IF_KNOWN.match(said):
        regions = (*regions, Region(0, len(said), MentionKind.ASKED))
    denied = next((embedded_statement(said, one) for one in regions if one.denies), "")
    doubted = next((embedded_statement(said, one) for one in regions if one.doubts), "")
    missed = next((one.inner for one in regions if one.inner and one.kind is MentionKind.NEARLY), "")
    return SentenceReading(said, stated_part(said, regions), regions, denied, doubted, missed)


def stated_part(said: str, regions: tuple[Region, ...]) -> str:
    """The sentence without what it mentions; nothing where no statement is left."""
    if not regions:
        return said
    kept, end = [], 0
    for region in sorted(regions, key=lambda one: one.start):
        kept.append(said[end : max(end, region.start)])
        end = max(end, region.end)
    rest = re.sub(r"\s+", " ", " ".join([*kept, said[end:]])).strip(" ,;:-–—")
    content = [word for word in _CONTENT.findall(rest.lower()) if word not in LEFT_OVER]
    return rest if len(content) > 1 and is_clause(rest) else ""


def embedded_statement(said: str, region: Region) -> str:
    """The statement inside a frame: behind its "that", else all of it."""
    if region.inner:
        return region.inner
    inside = said[region.start : region.end]
    that = re.search(r"\bthat\s+(.+)", inside, _I)
    return that[1] if that else inside


def _bounded_region(said: str, region: Region) -> Region:
    """The region up to where its sentence goes on with something else."""
    if region.end < len(said) or (region.start == 0 and not _FRONTED.match(said)):
        return region
    before = said[: region.start]
    if _FRONTED.match(said) and "," not in before:
        comma = _last_comma(said, region.start)
        after = said[comma + 1 :] if comma > 0 else ""
        if not after or (_CONDITION.match(said) and (_MODAL.search(after) or any(map(is_past, words_of(after))))):
            return region
        return replace(region, end=comma)
    relative = _FRAME_RELATIVE.search(before)
    comma = said.find(",", region.start)
    if relative and comma > 0:
        return replace(region, end=comma)
    opened, closed = before.rfind("("), said.find(")", region.start)
    if opened > before.rfind(")") and closed > 0:
        return replace(region, end=closed)
    turn = _NEXT.search(said, region.start)
    return replace(region, end=turn.start()) if turn else region


def _last_comma(said: str, start: int) -> int:
    """The last comma that a clause with a verb of its own follows; 0 where there is none."""
    comma = said.rfind(",")
    while comma > start:
        if is_clause(said[comma + 1 :]):
            return comma
        comma = said.rfind(",", 0, comma)
    return 0
