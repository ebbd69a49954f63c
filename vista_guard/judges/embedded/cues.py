"""Lexical cues that back the claim-type head where wording decides: refusals, plain tastes, a speaker's own life.

The head reads meaning, and meaning is nearly blind to "does not know". The cues are few, and each is sure. Saying what
one thinks is none: "I think it opened in 1925" is a fact with a hedge, and the head must look at it.
"""

from __future__ import annotations

import re

from vista_guard.judges.embedded.words import any_of

_SELF = any_of("the assistant, the wizard, the speaker, the system, the model, the bot, the agent, i, we")
_WHO = any_of(
    "the assistant, the wizard, the speaker, the system, the model, the bot, the agent, the user, the apprentice, i, we"
)
_NOT = any_of(r"(?:do|does|did|is|are|am|was|were|can|could|will|would|ca|wo)(?:\s?n'?t|\snot), cannot")
_KNOW = any_of("know, sure, certain, aware, recall, remember, familiar, confident")
_TELL = any_of(
    """help, assist, answer, provide, verify, confirm, say, tell, share, offer, comply, fulfil, fulfill, discuss, find,
    give, advise, predict, access, recall, remember, comment, engage, support"""
)
_MATTER = any_of("information, info, idea, access, details, data, knowledge, answer, clue, record, way of knowing")
_CANNOT = any_of("can't, cannot, can not, ca n't, couldn't, could not, won't, will not")
_IS = any_of("is, are, am, was, were, feels, remains")

_ABSTENTION = tuple(
    re.compile(rf"\b{_SELF}\b(?:\s[\w',-]+){{0,3}}?\s{rest}\b", re.IGNORECASE)
    for rest in (
        rf"{_NOT} (?:\w+ ){{0,2}}?{_KNOW}",
        rf"{_NOT} (?:\w+ )?able to {_TELL}",
        rf"{_NOT} (?:\w+ )?have (?:\w+ ){{0,2}}?{_MATTER}",
        rf"{_CANNOT} (?:\w+ )?{_TELL}",
        rf"{_IS} (?:\w+ )?(?:unsure|uncertain|unaware|unable to)",
        rf"(?:has|have|had) no (?:\w+ )?{_MATTER}",
        rf"lacks? (?:\w+ )?{_MATTER}",
    )
)
_TASTE = re.compile(
    rf"^{_WHO}(?:'s favou?rite|'s opinion| (?:\w+ )?"
    + any_of(
        """loves?, likes?, liked, loved, hates?, hated, enjoys?, enjoyed, prefers?, hopes?, wish(?:es)?, wants?,
        admires?, appreciates?, recommends?, suggests?, agrees?, disagrees?, finds? it,
        would (?:love|like|recommend|suggest|prefer),
        is (?:\\w+ )?(?:interested in|a (?:\\w+ )?fan|into|glad|happy|sad|excited|surprised|busy|afraid|scared)"""
    )
    + r")\b",
    re.IGNORECASE,
)
_VALUE = re.compile(
    any_of(
        """^in (?:my|the assistant's|the wizard's) opinion\\b, \\b(?:would|might) be wise to\\b,
        \\b(?:it'?s|it is|is) worth\\b,
        ^it(?:'s| is| was) (?:\\w+ )?(?:too bad|sad|nice|great|good|amazing|cool|funny) (?:that|to|how|when)\\b,
        ^(?:you|the user|people|everyone) (?:should|ought to)\\b"""
    ),
    re.IGNORECASE,
)
_LIFE = re.compile(
    rf"^{_SELF}(?:'s (?:\w+ )?"
    + any_of(
        """mother, father, mom, dad, brother, sister, son, daughter, wife, husband, girlfriend, boyfriend, friend,
        family, kids?, children, dog, cat, grandmother, grandfather, grandma, grandpa, house, hair, back"""
    )
    + "| "
    + any_of(
        """has (?:\\w+ )?been to, went to, grew up, tried, visited, used to, has never, has always,
        has an? (?:girlfriend|boyfriend|daughter|son|dog|cat|wife|husband|brother|sister)"""
    )
    + r")\b",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    rf"^{any_of('welcome, enjoy, try, check out, hope, please, let us, let.s, don.t forget, (?:be|make) sure, consider')}\b",
    re.IGNORECASE,
)


def abstains(claim: str) -> bool:
    """Whether the claim is a refusal, or says that its speaker does not know."""
    return any(pattern.search(claim) for pattern in _ABSTENTION)


def subjective(claim: str) -> bool:
    """Whether the claim is a taste, a judgement of value, a speaker's own life, advice or a courtesy."""
    return any(pattern.search(claim) for pattern in (_TASTE, _VALUE, _LIFE, _COURTESY))
