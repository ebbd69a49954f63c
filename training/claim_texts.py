"""Sentences for the claim-type head, generated from templates written for this project.

Three types: *factual* (the world can prove it right or wrong), *opinion* (taste, experience, feeling, advice, small
talk: outside what a document can prove) and *abstention* (not knowing, not being sure, declining). VISTA section 3
and its prompt give the definitions; none of its sentences is here.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence

from training import augment

TYPE_LABELS = ("factual", "opinion", "abstention")
# `denials` are facts that read like refusals ("cannot be bought in Oslo"), `advice` opinions that do ("can't recommend
# it enough", "if in doubt, ask a doctor"); `refusals` is what a program declines, is unable to do or cannot know.
FORMS = tuple(
    tuple(form for name in names for form in augment.lines(name))
    for names in (("facts", "denials"), ("opinions", "advice"), ("abstentions", "refusals"))
)
QUESTIONS = augment.lines("questions")
_WORDS: dict[str, list[str]] = augment.LEXICON | augment.read_json("requests")
_WORDS_OF_ROLES = ("assistant", "wizard", "speaker", "agent", "user", "bot", "apprentice", "we", "our", "you", "your")
_REFUSALS = frozenset(augment.lines("refusals"))
_WEIGHTS = (5, 7, 5)
_INNER_NAME = re.compile(r"(?<=[\w,] )(?:The (?=assistant|wizard|speaker|agent|user|bot|apprentice)|We\b|You\b)")


def _subject(form: str, rng: random.Random) -> str:
    """Who speaks. Only the assistant refuses: "The user cannot see pictures" is no abstention."""
    names = _WORDS["speakers" if form in _REFUSALS else "claim_subjects"]
    return rng.choice(names).replace("{name}", rng.choice(augment.FIRST_NAMES))


def _question(rng: random.Random, topics: Sequence[str]) -> str:
    """What somebody does not know: mostly a template, sometimes a bare topic question."""
    text = rng.choice(QUESTIONS)
    for slot, options in (("{t2}", topics), ("{t}", topics), ("{a}", _WORDS["actions"])):
        text = text.replace(slot, rng.choice(options))
    return text


def _third_person(action: str) -> str:
    verb, _, rest = action.partition(" ")
    return f"{verb}{'es' if verb.endswith(('s', 'sh', 'x', 'o')) else 's'} {rest}".strip()


def _spoken_by(form: str, subject: str) -> str:
    """The form with its subject in place, verbs and owners agreeing."""
    plural = subject in {"We", "You"}
    text = augment.render(form, "I" if plural else subject)
    if plural:
        owner = {"We": "Our", "You": "Your"}[subject]
        text = text.replace("I am ", f"{subject} are ").replace("I'm ", f"{subject} are ").replace("My ", f"{owner} ")
        text = re.sub(r"\bI\b(?!['.])", subject, text)
    return text


def _slots(subject: str, rng: random.Random, topics: Sequence[str], fact: str) -> dict[str, str]:
    """A value for every slot. Longer slots come before those that begin like them."""
    first = subject in {"I", "We", "You"}
    past, past2 = rng.sample(_WORDS["past"], 2)
    inner, inner2 = rng.sample(_WORDS["inner"], 2)
    action, topic, topic2 = rng.choice(_WORDS["actions"]), rng.choice(topics), rng.choice(topics)
    number = rng.choice([str(rng.randint(1500, 2024)), str(rng.randint(3, 90)), f"{rng.randint(2, 90)} million"])
    word = {slot: rng.choice(_WORDS[name]) for slot, name in _LISTS.items()}
    return word | {
        "{fact}": augment.uncapitalised(fact.rstrip(".")),
        "{name}": rng.choice(augment.FIRST_NAMES),
        "{q}": _question(rng, topics),
        "{x2}": past2,
        "{x}": past,
        "{i2}": inner2,
        "{i}": inner,
        "{a2}": action if first else _third_person(action),
        "{a}": action,
        "{s2}": "I" if first else subject,
        "{p3}": "my" if first else "its",
        "{p2}": "my" if first else f"{subject}'s",
        "{me}": "me" if first else subject,
        "{t2}": topic2,
        "{t}": topic,
        "{n}": number,
        "{c}": rng.choice(augment.CITIES),
    }


_LISTS = {
    "{f}": "kin_facts", "{o3}": "belongings", "{w}": "works", "{m}": "materials", "{g2}": "judgements", "{g}": "good",
    "{k}": "kin", "{r}": "requests", "{h}": "harms", "{z}": "secrets", "{v}": "media", "{d}": "details",
}  # fmt: skip


def fill(form: str, rng: random.Random, topics: Sequence[str], facts: Sequence[str]) -> str:
    """One sentence from one template."""
    subject = _subject(form, rng)
    text = _spoken_by(form, subject)
    slots = _slots(subject, rng, topics, rng.choice(facts))
    if slots["{g2}"][0] in "aeiou":
        text = text.replace(" a {g2}", " an {g2}")
    for slot, value in slots.items():
        text = text.replace(slot, value)
    text = _INNER_NAME.sub(lambda match: match.group().lower(), text[:1].upper() + text[1:])
    return text if rng.random() < 0.85 else text.lower().rstrip(".")


def function_words(least: int = 4) -> list[str]:
    """Words that at least ``least`` templates are built of, slots left out, and the names of those who speak."""
    found = Counter(_WORDS_OF_ROLES)
    for form in (form for forms in FORMS for form in forms):
        found.update(set(re.findall(r"[a-z]+(?:'[a-z]+)?", re.sub(r"\{\w+\}|[<|>]", " ", form.lower()))))
    return sorted(word for word, count in found.items() if count >= least or word in _WORDS_OF_ROLES)


def sentences(topics: Sequence[str], facts: Sequence[str], count: int, seed: int) -> list[tuple[str, int]]:
    """``count`` generated sentences with type ids, and every template at least once where ``count`` allows it."""
    rng = random.Random(seed)
    pool = [*topics, *rng.choices(_WORDS["things"], k=len(topics))]
    once = [(form, kind) for kind, forms in enumerate(FORMS) for form in forms]
    kinds = rng.choices(range(3), weights=_WEIGHTS, k=max(count - len(once), 0))
    more = [(rng.choice(FORMS[kind]), kind) for kind in kinds]
    return [(fill(form, rng, pool, facts), kind) for form, kind in (once + more)[:count]]
