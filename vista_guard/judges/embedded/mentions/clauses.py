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
"""A verb of thinking and its "that", with words in between: "dreamt one night that"."""
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
"""Words before a "that" that states, or that begins a relative clause."""
_FRAME = re.compile(r"[;:]|, (?:but|and|so)\b|(?<=\w), ")
_OF_TRUTH = re.compile(rf"{DENYING.pattern}|\b(?:true|case|correct|so|right|said)\b", _I)
_IMPERSONAL = re.compile(r"\bit(?:'s| is| was| has been| would be| being)\b", _I)
_FACTIVE = re.compile(
    r"\b(?:know\w*|knew|reali[sz]\w+|aware|notic\w+|remember\w*|mention\w*|overlook\w*|stress|emphasi\w+|surpris\w+|sure|certain|clear"
    r"|strange|odd|whether|can't believe|cannot believe|(?:may|might|could)(?! be said))\b",
    _I,
)
"""Words whose clause a negation keeps ("did not know that") or leaves open ("not sure that")."""
_WINDOW, _MOST_FRAME = 70, 160
"""Characters before a verb in which a negation can retract its clause."""


def complements(sentence: str) -> Iterator[Region]:
    """The governed clauses that a sentence does not state, from the governing word to its end."""
    for match in _THAT.finditer(sentence):
        if not _RELATIVE.match(sentence, match.end()):
            yield from _governed_regions(sentence, match)
    for match in _LATER_THAT.finditer(sentence):
        yield _reported_region(sentence, match.start(), match.end())
    for match in _WHETHER.finditer(sentence):
        yield Region(match.start(), len(sentence), MentionKind.SUPPOSED)
    bare = _BARE.search(sentence)
    if bare and is_clause(bare["rest"]) and not _is_authority(sentence[: bare.start()], bare["word"]):
        yield _reported_region(sentence, bare.start(), bare.start("rest"))


def _governed_regions(sentence: str, match: re.Match[str]) -> Iterator[Region]:
    """ "The rival claims that ...", "no proof that ..."; nothing if the governing word states the clause."""
    word, before = match["word"], sentence[max(0, match.start() - _WINDOW) : match.start()]
    before = re.split(r"[;:]|, (?:but|and)\b", before)[-1]
    negated = NEGATION.search(before) is not None
    region = _reported_region(sentence, match.start(), match.end())
    if _WELCOME.search(before.rstrip()) or (DENYING.fullmatch(word) and not region.doubts):
        return
    if region.denies:
        yield region
        return
    if STATING.fullmatch(word) or FACTS.fullmatch(word):
        if negated and not _FEW_KNOW.search(before):
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
        or (_SUBJECT.match(sentence, match.end()) and word.lower() not in _LINKING and not word.endswith("ly"))
    ):
        yield region


_NO_DENIAL = re.compile(
    r"\b(?:were it|if it (?:were|was)) not for\b|\bnothing \w+ (?:me|us)\b"
    r"|^\W*(?:is|are|was|were|do|does|did|has|have|had|would|could|should|can|wo|ai)n['’]t\b|\bmore than\b"
    r"|^\W*had (?:i|we|you|(?:the )?\w+) not\b"
    r"|\b(?:can(?:not| not|['’]t)|could(?: not|n['’]t)) (?:tell|reveal|share|disclose|discuss|promise)\b",
    re.IGNORECASE,
)
"""Negations that do not deny what follows: "Isn't it odd that X?", "I can't say more than that X", "I can't tell you X"."""


def _reported_region(sentence: str, start: int, inner: int) -> Region:
    """The clause from its governing word on, and whether the sentence ("it is false that") or its speaker denies it."""
    frame = _FRAME.split(sentence[max(0, inner - _MOST_FRAME) : inner])[-1]
    open_or_known = _CONDITION.match(frame) or (_FACTIVE.search(frame) and not DENYING.search(frame))
    doubts = denies(frame) and not open_or_known and not _NO_DENIAL.search(frame)
    flatly = doubts and _IMPERSONAL.search(frame) is not None and _OF_TRUTH.search(frame) is not None
    kind = MentionKind.DENIED if flatly else MentionKind.REPORTED
    return Region(start, len(sentence), kind, holder(sentence[:start]), flatly, doubts, sentence[inner:])


def _is_authority(before: str, word: str) -> bool:
    """True if the speaker is an authority."""
    near = re.split(r"[,;:]", before)[-1]
    if STRANGERS.search(near) or NEGATION.search(near):
        return False
    return SAYING.fullmatch(word) is not None and AUTHORITIES.search(near) is not None


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
_YES_OR_NO = re.compile(
    r"(?:and |but |so |or )?(?P<aux>do|does|did|am|is|are|was|were|have|has|had|can|could|will|would"
    r"|should|must)(?:n't)?\s+(?P<rest>.+)",
    _I,
)
_SUPPOSES = re.compile(r"\b(?:would|could|might)\b.*\bif\b|\bif\b.*\b(?:would|could|might)\b", re.IGNORECASE)
"""Hypothetical questions: the next sentence does not answer them."""
_OPEN = re.compile(
    r"(?:(?:in|at|on|for|from|to|with|by|of|since|until) )?(?:what|who|whom|whose|where|when|which"
    r"|how (?:long|much|many|far|big|tall|old|heavy|often|high|deep|wide|fast))\b",
    _I,
)
_TAIL = re.compile(
    r",\s*(?:right|correct|(?:is|are|was|were|do|does|did|has|have)(?:n't)? (?:it|he|she|they|there|not))\s*$", _I
)


def question(sentence: str) -> str:
    """The question in a sentence, without label and question mark; "" if there is none."""
    bare = sentence.strip().rstrip("\"'”’)* ")
    return _LABEL.sub("", bare).rstrip("? ") if bare.endswith("?") else ""


def statement_of_question(asked: str) -> str:
    """The statement in a yes-or-no question, without its auxiliary; "" for any other question."""
    match = _YES_OR_NO.fullmatch(asked)
    if match is None:
        return "" if _OPEN.match(asked) or re.match(r"(?:why|how|if|or)\b", asked, _I) else _TAIL.sub("", asked)
    return match["rest"]


def is_open(asked: str) -> bool:
    """True for a question that asks for a value: when, who, how long. "Why" presupposes its statement, so it is not open."""
    return _OPEN.match(asked) is not None and not _SUPPOSES.search(asked)


def answer(text: str) -> str:
    """The answer to a question, without its label."""
    return _ANSWER_LABEL.sub("", text).strip()


def agrees(text: str) -> bool:
    """True if an answer begins with yes."""
    return _YES.match(answer(text)) is not None


def declines(text: str) -> bool:
    """True if an answer begins with no."""
    return _NO.match(answer(text)) is not None or speaks_of_neighbour(answer(text))


_MOST = 1200
"""Characters of a sentence that are searched for frames, from its beginning; a verifier reads no more either."""
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
def read(sentence: str) -> SentenceReading:
    """Splits a sentence without markup into stated and mentioned parts. Runs of spaces become one, or patterns with words
    between spaces would restart at each."""
    sentence = _SPACES.sub(" ", sentence)
    if len(sentence) > _MOST:
        begun = read(sentence[:_MOST])
        return replace(begun, said=sentence, stated=begun.stated if begun.regions else sentence)
    regions = tuple(_bounded_region(sentence, region) for region in (*complements(sentence), *cues(sentence)))
    if sentence.rstrip("\"'”’) ").endswith("?") and not ASKED_IF_KNOWN.match(sentence):
        regions = (*regions, Region(0, len(sentence), MentionKind.ASKED))
    denied = next((mention.inner for mention in regions if mention.denies), "")
    doubted = next((mention.inner for mention in regions if mention.doubts), "")
    missed = next((mention.inner for mention in regions if mention.inner and mention.kind is MentionKind.NEARLY), "")
    return SentenceReading(sentence, stated_part(sentence, regions), regions, denied, doubted, missed)


def stated_part(sentence: str, regions: tuple[Region, ...]) -> str:
    """The sentence without its mentions; "" if no statement is left."""
    if not regions:
        return sentence
    pieces, end = [], 0
    for region in sorted(regions, key=lambda one: one.start):
        pieces.append(sentence[end : max(end, region.start)])
        end = max(end, region.end)
    remaining = re.sub(r"\s+", " ", " ".join([*pieces, sentence[end:]])).strip(" ,;:-–—")
    content = [word for word in _CONTENT.findall(remaining.lower()) if word not in LEFT_OVER]
    return remaining if len(content) > 1 and is_clause(remaining) else ""


def _bounded_region(sentence: str, region: Region) -> Region:
    """The region, cut where the sentence goes on with something else."""
    if region.end < len(sentence) or (region.start == 0 and not _FRONTED.match(sentence)):
        return region
    before = sentence[: region.start]
    if _FRONTED.match(sentence) and "," not in before:
        comma = _last_comma(sentence, region.start)
        after = sentence[comma + 1 :] if comma > 0 else ""
        if not after or (_CONDITION.match(sentence) and (_MODAL.search(after) or any(map(is_past, words_of(after))))):
            return region
        return replace(region, end=comma)
    relative = _FRAME_RELATIVE.search(before)
    comma = sentence.find(",", region.start)
    if relative and comma > 0:
        return replace(region, end=comma)
    opened, closed = before.rfind("("), sentence.find(")", region.start)
    if opened > before.rfind(")") and closed > 0:
        return replace(region, end=closed)
    turn = _NEXT.search(sentence, region.start)
    return replace(region, end=turn.start()) if turn else region


def _last_comma(sentence: str, start: int) -> int:
    """The last comma before a clause with its own verb; 0 if there is none."""
    comma = sentence.rfind(",")
    while comma > start:
        if is_clause(sentence[comma + 1 :]):
            return comma
        comma = sentence.rfind(",", 0, comma)
    return 0
