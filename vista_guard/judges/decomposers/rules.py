"""Decomposers without a model: each sentence a claim, and the four steps of DAD (§3.1) by our own rules of English.

The rules split only if each part follows from the whole and the parts together say all of it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence

from vista_guard.errors import JudgeError
from vista_guard.judges.decomposers.sentences import (
    SentenceTrace,
    Statement,
    as_claim,
    as_it_stands,
    claims_of,
    home,
    statements,
)
from vista_guard.judges.embedded.english.asides import inner_statements
from vista_guard.judges.embedded.english.cues import can_be_verb
from vista_guard.judges.embedded.english.decompose import decompose
from vista_guard.judges.embedded.english.segment import foreign_language
from vista_guard.judges.embedded.english.verbs import finish_sentence, finite_verb, verb_index, words_of
from vista_guard.judges.embedded.english.words import content_words
from vista_guard.judges.embedded.judge import READS_ENGLISH
from vista_guard.reading.canonical import folded
from vista_guard.types import Claim, JudgeInfo, Turn


class SentenceDecomposer:
    """Implements `TracingDecomposer`: each sentence is a claim, unchanged but for the speakers' names."""

    info = JudgeInfo(name="sentence", version="1")

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """Claims with the spans of their sentences."""
        return claims_of(await self.trace(turn, history), len(history))

    async def trace(self, turn: Turn, history: Sequence[Turn]) -> Sequence[SentenceTrace]:  # noqa: ARG002  of the protocol
        """One record per sentence."""
        sentences = await asyncio.to_thread(statements, turn.text)
        return [
            SentenceTrace(
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
    """Implements `TracingDecomposer`: the embedded judge's claims, split further. English only.

    It separates relative clauses, lists behind "has" or "is", and the places and dates of one-time events ("was born on ...
    in ...").
    """

    info = JudgeInfo(name="steps:embedded", version="1")

    def __init__(self, *, keep_steps: bool = False) -> None:
        self._keep_steps = keep_steps

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """Claims with the spans of their sentences.

        Raises:
            JudgeError: the turn is surely not English.
        """
        return claims_of(await self.trace(turn, history), len(history), keep_steps=self._keep_steps)

    async def trace(self, turn: Turn, history: Sequence[Turn]) -> Sequence[SentenceTrace]:
        """One record per sentence, with steps in the format requested of a model."""
        return await asyncio.to_thread(self._trace, turn, history)

    def _trace(self, turn: Turn, history: Sequence[Turn]) -> list[SentenceTrace]:
        language = foreign_language(folded(turn.text))
        if language is not None:
            raise JudgeError(f"the turn looks like {language}; {READS_ENGLISH}")
        sentences = statements(turn.text)
        homes: dict[int, list[str]] = {place: [] for place in range(len(sentences))}
        for claim in decompose(turn, history):
            homes.setdefault(home(claim, sentences), []).append(claim.text)
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
    return SentenceTrace(sentence=sentence.text, span=sentence.span, claims=parts, thoughts=thoughts)


def answer_of(trace: SentenceTrace) -> str:
    """The record in the format of a model's answer: `<think>...</think><output>[...]</output>`."""
    claims = json.dumps(list(trace.claims), ensure_ascii=False)
    return f"<think>\n{trace.thoughts}\n</think>\n<output>{claims}</output>"


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
    for rule in (_split_relative, _split_who, _split_list, _split_kinds, _split_event):
        parts = [part for piece in parts for part in rule(piece)]
    if len(parts) == 1 or len(parts) > _MOST or not content_words(text) <= content_words(" ".join(parts)) | _JOINTS:
        return [claim]
    return [finish_sentence(part, ()) for part in dict.fromkeys(parts)]


_JOINTS = content_words("who which that where also")
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


def _split_relative(claim: str) -> Iterator[str]:
    """ "V painted the hall, which opened in 1850": both, if the rules for asides find both."""
    inner = list(inner_statements(claim)) if _MARKED.search(claim) else []
    if len(inner) > 1 and content_words(claim) <= content_words(" ".join(inner)) | _JOINTS:
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
    if event is None or len(parts) < 2 or any(_is_other_deed(match) for match in _OTHER_DEED.finditer(event["tail"])):
        yield claim
        return
    yield from (f"{event['head']} {part}" for part in parts)


def _is_other_deed(joint: re.Match[str]) -> bool:
    """ "in the 1st century and restored in 1850" """
    return joint["verb"] is None or can_be_verb(joint["verb"])
