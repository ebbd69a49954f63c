"""Abstentions: a refusal and a guard's own message state nothing, nor does an answer that is nothing else.

Such an answer counts in R and S, where it tells nothing, and in neither P nor D: it has no statement to be right or wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from vista_guard.judges.embedded.english.cues import abstains
from vista_guard.reading.passages import sentence_spans
from vista_lab.dialogues.records import AnswerLine

_DECLINES = re.compile(
    r"\b(?:the (?:assistant|model|speaker)|i|we)\b(?:['’][a-z]+)?(?: [\w-]+){0,3}? (?:declines?|refuses?)\b"
    r"|\b(?:documents?|context|sources?|passages?|texts?)\b(?: \w+){0,2}? (?:do|does|did)(?:n['’]t| not) "
    r"(?:mention|say|state|give|contain|provide|specify)\b",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"^\W*(?:(?:the (?:assistant|model|speaker)|i|we)\b(?:['’][a-z]+)?(?: (?:is|am|are))?(?: \w+ly)? )?(?:sorry|apologi[sz]es?)\b"
    r"|^\W*(?:(?:you|the user)\b(?: \w+){0,3} |please )?(?:consult|contact|see|ask|speak (?:to|with)|talk to|reach out to) "
    r"(?:an?|your|the user['’]s|with an?) (?:[\w-]+ ){0,3}?"
    r"(?:doctor|physician|pharmacist|lawyer|attorney|advis[eo]r|accountant|expert|specialist|professional)s?\b",
    re.IGNORECASE,
)
"""Regrets, or sends to an expert: no statement beside a refusal."""


def refuses(text: str) -> bool:
    """True if a sentence refuses, or says that its speaker does not know.

    Examples:
        >>> refuses("I can't help with that."), refuses("Dogs can't travel on the ferry.")
        (True, False)
    """
    return abstains(text) or _DECLINES.search(text) is not None


def statements_of(answer: AnswerLine, texts: Sequence[str]) -> dict[int, str]:
    """The statements of an answer, of the texts that a decomposer made of it, by their place.

    Args:
        answer: the answer.
        texts: as the decomposer gave them, in order.
    """
    if not answer.said:
        return {}
    stated = {place: text for place, text in enumerate(texts) if not refuses(text)}
    if len(stated) == len(texts):
        return stated
    return {place: text for place, text in stated.items() if not _COURTESY.search(text)}


def is_abstention(answer: AnswerLine, texts: Sequence[str]) -> bool:
    """True if an answer states nothing since it refuses, or since all of it is the guard's message."""
    if not answer.said:
        return True
    if statements_of(answer, texts):
        return False
    said = answer.said
    return bool(texts) or any(refuses(said[span.start : span.end]) for span in sentence_spans(said))
