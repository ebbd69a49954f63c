"""What a bare "yes" or "no" claims: the question turned round where its subject is a pronoun, else the question, quoted."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vista_guard.judges.embedded.english.phrases import ANSWER, OPENER, SMALL_TALK
from vista_guard.judges.embedded.english.speakers import name_speakers, names, third_person
from vista_guard.judges.embedded.english.verbs import has_verb
from vista_guard.judges.embedded.english.words import any_of
from vista_guard.types import Role

_NO = re.compile(r"\b(?:no|nope|nah|not)\b|n't\b", re.IGNORECASE)
_OPEN_WORDS = frozenset(
    ("what", "who", "whom", "whose", "why", "how", "where", "when", "which", "if", "whether", "about", "so")
)
_INVERTED = re.compile(
    rf"(?P<verb>{any_of('do, does, did, am, is, are, was, were, have, has, had, can, could, will, would, should, must')})"
    r"(?P<no>n't)? (?P<subject>i|you|he|she|it|they|we|there|this|that) (?P<rest>[^?]*\w)\W*",
    re.IGNORECASE,
)
_DECLARED = re.compile(r"(?:he|she|it|they|that|this|there)(?:'s|'re| is| are| was| were| has| have)\b", re.IGNORECASE)
_NAMES = re.compile(
    r"(?:(?:in|at|on|for|from|to|with|by|of) )?(?:which\b[^?]*|(?:what|who)\b[^?]*\d[^?]*)\?", re.IGNORECASE
)
_LONGEST_NAME = 8
"""Most words of an answer that only names something."""
_DOING = frozenset(("do", "does"))
_EXPECTS = re.compile(r"(?:is|are|was|were|do|does|did|has|have)n't (?:he|she|it|they|this|that|there) ", re.IGNORECASE)


def open_question(text: str) -> str:
    """The last yes-or-no question of a turn's text, in its speaker's words. "What ...?" is none."""
    asked = (without_opener(one) for one in re.split(r"(?<=[.!?])\s+", text[-400:]))
    return next((one for one in reversed([*asked]) if one.endswith("?") and not _is_open(one)), "")


def answered(question: str, answer: str, role: Role) -> str:
    """What `answer`, a yes or no, claims of the question that a `role` asked; the speakers are named."""
    no = _NO.search(answer) is not None
    turned = _turned_round(question, no)
    if turned:
        return name_speakers(turned, *names(role))
    return f'The answer to "{name_speakers(question, *names(role))}" is {"no" if no else "yes"}'


def which(question: str) -> str:
    """A question that a name alone answers, as it stands: "Which hall opened in 1850?"; nothing for any other."""
    return question if _NAMES.fullmatch(question) else ""


def named_by(question: str, answer: str) -> str:
    """What a bare name claims of the question before it; nothing for an answer that says more, or is no name."""
    name = answer.strip(" .!")
    is_name = 0 < len(name.split()) <= _LONGEST_NAME and not has_verb(answer) and "?" not in name
    if not is_name or ANSWER.match(answer) or SMALL_TALK.fullmatch(answer):
        return ""
    return f'The answer to "{question}" is {name}'


def expected(question: str) -> str:
    """What "Aren't they owned by Vale?" takes to be so; nothing for any other question."""
    return _turned_round(question.replace(" n't", "n't"), False) if _EXPECTS.match(question) else ""


def _turned_round(question: str, no: bool) -> str:
    """ "Do you like to swim?" as "you like to swim" or "you do not like to swim"; nothing where that is not sure."""
    if _DECLARED.match(question) and not no:
        return question.rstrip("? ")
    match = _INVERTED.fullmatch(question)
    # "tea or coffee?" is no question of yes or no, and a subject of several words ("that tall man") has no sure end.
    if not match or re.search(r"\bor\b", match["rest"]) or match["subject"].lower() in ("this", "that"):
        return ""
    verb, subject, rest = match["verb"].lower(), match["subject"], match["rest"]
    if no:
        ever = re.match(r"ever ", rest)
        return f"{subject} {verb} {'never' if ever else 'not'} {rest[ever.end() :] if ever else rest}"
    rest = re.sub(r"^ever ", "", rest)
    rest = re.sub(r"\bany(thing|one|body)?\b", r"some\1", rest)
    first, _, others = rest.partition(" ")
    if verb in _DOING:
        return f"{subject} {first if verb == 'do' else third_person(first)} {others}".rstrip()
    return f"{subject} {verb} {rest}"


def _is_open(question: str) -> bool:
    """Whether one of the first words asks for more than yes or no: "In which year ...?" """
    return any(word.lower().partition("'")[0] in _OPEN_WORDS for word in _first_words(question))


def _first_words(question: str) -> Sequence[str]:
    words = question.split(" ")
    return words[:2] if words[0].lower() in ("in", "at", "on", "for", "from", "to", "with", "by", "of") else words[:1]


def without_opener(text: str) -> str:
    """`text` from where it begins to say anything."""
    match = OPENER.match(text)
    while match and re.search(r"\w", text[match.end() :]):
        text = text[match.end() :]
        match = OPENER.match(text)
    return text
