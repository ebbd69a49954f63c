"""Splits one sentence into stated, mentioned and denied parts, by rules over its words."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from vista_guard.judges.embedded.english.verbs import words_of
from vista_guard.judges.embedded.english.words import ASKED_IF_KNOWN, is_past
from vista_guard.judges.embedded.mentions.clauses import complements
from vista_guard.judges.embedded.mentions.cues import cues
from vista_guard.judges.embedded.mentions.words import LEFT_OVER, MentionKind, Region, SentenceReading, is_clause

_I = re.IGNORECASE
_MOST = 1200
"""Characters of a sentence that are read for frames. Of a longer one its beginning is: a verifier reads no more of it either."""
_FRONTED = re.compile(
    r"^(?:but |and )?(?:although|though|even|while|whereas|contrary to|despite|in spite of|if|unless"
    r"|whatever|when|as|assuming|provided)\b",
    _I,
)
_CONDITION = re.compile(r"^(?:but |and |even |only )*(?:if|unless|assuming|provided)\b", _I)
_RELATIVE = re.compile(r",\s*(?:which|who|where|as)\s+(?:\w+\s+){0,3}$", _I)
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
    denied = next((embedded_statement(said, region) for region in regions if region.denies), "")
    return SentenceReading(said, stated_part(said, regions), regions, denied)


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
    relative = _RELATIVE.search(before)
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
