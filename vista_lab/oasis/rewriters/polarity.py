"""Saying no: sure negations of a sentence, and corrections ("not b but a") in which "not" says nothing about the truth."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from lemminflect import getLemma  # type: ignore[import-untyped]

from vista_guard.judges.embedded.english.words import word_set
from vista_lab.oasis.rewriters.carrier import word_list
from vista_lab.oasis.rewriters.text import BE, MODALS, Token, past_is_participle, stripped, tokens
from vista_lab.oasis.rewriters.values import Value

_NP = {"DT", "JJ", "JJR", "JJS", "NN", "NNS", "NNP", "NNPS", "CD", "PRP", "PRP$", "POS", "$", "VBG"}
_HAVE = {"has", "have", "had"}
_BARRED = re.compile(
    r"\b(?:not|never|no|none|nothing|nobody|neither|nor|only|all|every|each|some|any|always|most|many|few|both"
    r"|either|also|still|even"
    r"|just|least|yet|too|already|without|hardly|rarely|cannot|because|if|unless|several|one of|more than|less than"
    r"|until|after|before"
    r"|sometimes|often|usually|whether|currently|mainly|including|such as)\b|n['’]t\b|[;:?]|\"",
    re.IGNORECASE,
)


_CLAUSE_ENDS = word_set(", ; and but that which who because when while as before after where")


def verb_at(text: str) -> int | None:
    """Index of the first finite verb if only a plain noun phrase precedes it."""
    words = tokens(text)
    for i, token in enumerate(words):
        finite = token.lower in BE | MODALS | _HAVE or token.tag in {"VBD", "VBZ", "VBP"}
        if i and finite and token.text.islower():
            quoted = token.text.startswith(("'", "’"))
            sure = plain_subject(words[:i]) and not quoted and not may_be_participle(words, i)
            return i if sure else None
        joins = token.lower in {"of", "'s", "the", "and", "(", ")", "."} or (token.tag == "IN" and i)
        if not (token.tag in _NP or finite or joins):
            return None
    return None


def may_be_participle(words: tuple[Token, ...], at: int) -> bool:
    """True if what looks like a past tense may be a participle ("the topics covered include …")."""
    if words[at].tag != "VBD" or words[at].lower in BE | _HAVE or not past_is_participle(words[at].text):
        return False
    for word in words[at + 1 :]:
        if word.text in _CLAUSE_ENDS:
            return False
        if word.tag in {"VBZ", "VBP", "VBD", "MD"} or word.lower in BE | _HAVE:
            return True
    return False


_SAYING = word_list("saying")


def plain_subject(words: tuple[Token, ...]) -> bool:
    """A noun phrase, at most with a prepositional phrase."""
    tags = [w.tag for w in words]
    return (
        len(words) <= 9
        and any(t.startswith(("NN", "PRP", "CD")) for t in tags)
        and words[0].tag not in {"IN", "VBG"}
        and not any(w.lower == "that" for w in words)
    )


def negate(text: str, rng: Random | None = None) -> str | None:
    """The sentence negated; None if the negation is unsure."""
    words, at = tokens(text), verb_at(text)
    if at is None or _BARRED.search(text):
        return None
    verb, after = words[at], words[at + 1 : at + 2]
    if verb.lower in {"do", "does", "did"} and after and after[0].tag.startswith("VB"):
        return f"{text[: verb.start]}{verb.text} not{text[verb.end :]}"
    short = rng is not None and rng.random() < 0.4
    if verb.lower in BE | MODALS or (verb.lower in _HAVE and after and after[0].tag in {"VBN", "VBD"}):
        return f"{text[: verb.start]}{denied_auxiliary(verb.text, short)}{text[verb.end :]}"
    if verb.tag == "VBP" and verb.lower == "being":
        return None
    base = "have" if verb.lower in _HAVE else getLemma(verb.lower, upos="VERB")[0]
    if (base == verb.lower and verb.tag != "VBP") or base in _SAYING:
        return None
    auxiliary = {"VBD": "did", "VBZ": "does", "VBP": "do"}[finite_tag(verb)]
    return f"{text[: verb.start]}{denied_auxiliary(auxiliary, short)} {base}{text[verb.end :]}"


def finite_tag(verb: Token) -> str:
    """Past, third person or other present, by the form of the verb."""
    forms = {"has": "VBZ", "have": "VBP", "had": "VBD"}
    return forms.get(verb.lower, verb.tag)


def denied_auxiliary(word: str, short: bool) -> str:
    """ "is" -> "is not" or "isn't"."""
    if word.lower() == "can":
        return "can't" if short else "cannot"
    if word.lower() == "will":
        return "won't" if short else "will not"
    return f"{word}n't" if short and word.lower() not in {"am", "may", "might", "shall"} else f"{word} not"


def correct(claim: str, value: Value, other: str, rng: Random) -> tuple[str, str] | None:
    """(the claim with "not ``other``" put in, the same with the two values changed over), whichever form suits."""
    body, stop = stripped(claim)
    forms: list[Callable[[str, str], str]] = []
    bound = re.search(r"\b(?:of|until|since|before|after|than) $", body[: value.start])
    if bound or re.match(r"['’]s|-", body[value.end :]):
        return None
    final = re.search(rf"((?:\b(?:in|on|at|by|from|for|to|with)\b (?:the )?)?){re.escape(value.text)}$", body)
    preposition = final.group(1) if final else ""
    if final:
        forms.append(lambda a, b: f"{body[: final.start()]}{preposition}{a}, not {preposition}{b}{stop}")
        denial = negate(claim)
        if denial:
            head = stripped(denial)[0]
            head = head[: len(head) - len(value.text)]
            forms.append(lambda a, b: f"{head}{b} but {preposition}{a}{stop}")
    else:
        before, after = body[: value.start], body[value.end :]
        forms.append(lambda a, b: f"{before}{a} (not {b}){after}{stop}")
        forms.append(lambda a, b: f"{before}{a}, not {b},{after}{stop}")
    form = rng.choice(forms)
    return form(value.text, other), form(other, value.text)


DUTIES = (
    (r"\bmust not\b", "may"),
    (r"\bmust\b(?! not| have| be the)", "need not"),
    (r"\b(?:have|has) to\b", "need not"),
    (r"\b(?:is|are) required to\b", "need not"),
    (r"\bcan not\b|\bcannot\b|\bcan['’]t\b", "can"),
    (r"\bcan\b(?! not| be seen)", "cannot"),
    (r"\b(is|are) not allowed\b", r"\1 allowed"),
    (r"\b(is|are) allowed\b", r"\1 not allowed"),
    (r"\b(is|are) not permitted\b", r"\1 permitted"),
    (r"\b(is|are) permitted\b", r"\1 not permitted"),
    (r"\b(is|are) (?:prohibited|forbidden)\b", r"\1 allowed"),
    (r"\b(is|are) (?:mandatory|obligatory|compulsory)\b", r"\1 optional"),
    (r"\b(is|are) optional\b", r"\1 mandatory"),
    (r"\bwill be charged\b", "will not be charged"),
    (r"\b(is|are) included\b", r"\1 not included"),
    (r"\b(is|are) available\b", r"\1 not available"),
)


def plainly(pattern: str, text: str) -> bool:
    """True if the pattern matches in a main clause without a negation."""
    match = re.search(pattern, text)
    head = re.split(r"[.?!;] ", text[: match.start()] if match else text)[-1]
    return not re.search(
        r"\b(?:neither|nor|if|unless|whether|when|once|until|as|that|which|who|where|because|while"
        r"|not|no|never|only|what|how|will|to)\b"
        r"|n['’]t|['’]ll",
        head,
        re.IGNORECASE,
    )
