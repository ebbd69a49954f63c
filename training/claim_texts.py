"""Sentences for the claim-type head, generated from templates written for this project.

Three types: *factual* (the world can prove it right or wrong), *opinion* (taste, experience, feeling, advice, small
talk: outside what a document can prove) and *abstention* (not knowing, not being sure, declining). VISTA section 3
and its prompt give the definitions; none of its sentences is here.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from training import augment

TYPE_LABELS = ("factual", "opinion", "abstention")
_WORDS = augment.LEXICON
SUBJECTS, THINGS, ACTIONS, PAST = (tuple(_WORDS[name]) for name in ("claim_subjects", "things", "actions", "past"))
OPINIONS, ABSTENTIONS, FACTS, QUESTIONS = map(augment.lines, ("opinions", "abstentions", "facts", "questions"))


def _subject(rng: random.Random) -> str:
    return rng.choice(SUBJECTS).replace("{name}", rng.choice(augment.FIRST_NAMES))


def _question(rng: random.Random, topics: Sequence[str]) -> str:
    """What somebody does not know: mostly a template, sometimes a bare topic question."""
    return (
        rng.choice(QUESTIONS)
        .replace("{t2}", rng.choice(topics))
        .replace("{t}", rng.choice(topics))
        .replace("{a}", rng.choice(ACTIONS))
    )


def _third_person(action: str) -> str:
    verb, _, rest = action.partition(" ")
    return f"{verb}{'es' if verb.endswith(('s', 'sh', 'x', 'o')) else 's'} {rest}".strip()


def fill(form: str, rng: random.Random, topics: Sequence[str], facts: Sequence[str]) -> str:
    """One sentence from one template."""
    subject = _subject(rng)
    plural = subject in {"I", "We", "You"}
    text = augment.render(form, "I" if plural else subject)
    if plural and subject != "I":
        owner = {"We": "Our", "You": "Your"}[subject]
        text = text.replace("I am ", f"{subject} are ").replace("I'm ", f"{subject} are ").replace("My ", f"{owner} ")
        text = f"{subject}{text[1:]}" if text.startswith("I ") else text
    action, fact = rng.choice(ACTIONS), rng.choice(facts).rstrip(".")
    past, past2 = rng.sample(PAST, 2)
    number = rng.choice([str(rng.randint(1500, 2024)), str(rng.randint(3, 90)), f"{rng.randint(2, 90)} million"])
    slots = {
        "{fact}": augment.uncapitalised(fact),
        "{o3}": rng.choice(_WORDS["belongings"]),
        "{w}": rng.choice(_WORDS["works"]),
        "{m}": rng.choice(_WORDS["materials"]),
        "{name}": rng.choice(augment.FIRST_NAMES),
        "{f}": rng.choice(_WORDS["kin_facts"]),
        "{q}": _question(rng, topics),
        "{x2}": past2,
        "{x}": past,
        "{a2}": action if plural else _third_person(action),
        "{a}": action,
        "{g2}": rng.choice(_WORDS["judgements"]),
        "{s2}": "I" if plural else subject,
        "{p2}": "my" if plural else f"{subject}'s",
        "{g}": rng.choice(_WORDS["good"]),
        "{k}": rng.choice(_WORDS["kin"]),
        "{t2}": rng.choice(topics),
        "{t}": rng.choice(topics),
        "{n}": number,
        "{c}": rng.choice(augment.CITIES),
    }
    if slots["{g2}"][0] in "aeiou":
        text = text.replace(" a {g2}", " an {g2}")
    for slot, value in slots.items():
        text = text.replace(slot, value)
    text = text[:1].upper() + text[1:]
    return text if rng.random() < 0.85 else text.lower().rstrip(".")


def sentences(topics: Sequence[str], facts: Sequence[str], count: int, seed: int) -> list[tuple[str, int]]:
    """``count`` generated sentences with type ids: equal parts of opinion and abstention, fewer facts."""
    rng = random.Random(seed)
    forms = (FACTS, OPINIONS, ABSTENTIONS)
    kinds = rng.choices(range(3), weights=(4, 7, 3), k=count)
    pool = [*topics, *rng.choices(THINGS, k=len(topics))]
    return [(fill(rng.choice(forms[kind]), rng, pool, facts), kind) for kind in kinds]
