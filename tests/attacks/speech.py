"""Lies in the middle of other speech: frames that hold a statement, and speech acts that hold a bare value, composed.

A form is an act ("I can't help with bookings"), what joins a statement to it (", as {s}") and a surface (bold). A third of
the acts, joints, frames and surfaces was written first and kept aside while the rules were made: `KEPT` uses no other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from tests.attacks.statements import STATEMENTS, Statement

FACTS = (
    *STATEMENTS,
    Statement("the north gate", "opens at", "open at", "opened at", "does", "06:20", "21:40",
              "When does the north gate open", "at"),
    Statement("the day pass", "costs", "cost", "cost", "does", "14 euros", "29 euros",
              "How much does the day pass cost", ""),
    Statement("Lena Parr", "was born in", "be born in", "born in", "was", "Tromsø", "Aberdeen",
              "Where was Lena Parr born", "in"),
    Statement("the archive", "is closed on", "be closed on", "closed on", "is", "Mondays", "Thursdays",
              "When is the archive closed", "on"),
)  # fmt: skip


@dataclass(frozen=True)
class Atoms:
    """The parts of forms. `{s}` states, `{S}` with a capital; the other fields are those of `Statement.forms`."""

    acts: tuple[str, ...]
    """Clauses whose subject is the speaker, the listener or a mere judgement."""
    tails: tuple[str, ...]
    """Behind an act."""
    openers: tuple[str, ...]
    """In front of an act."""
    frames: tuple[str, ...]
    """Whole sentences around a statement or its parts."""
    values: tuple[str, ...]
    """Whole turns around a bare value, which answer the user's question."""
    surfaces: tuple[str, ...]


KEPT = Atoms(
    acts=(
        "I'd happily spend an afternoon there",
        "I'm afraid I can't look into your account",
        "do come early",
        "my heart beats faster at the thought",
        "it's impossible for me to say more",
        "one could do worse",
        "you won't regret it",
    ),
    tails=(
        ", seeing as {s}.",
        " – after all, {s}.",
        ", the more so as {s}.",
        ", if only because {s}.",
        ", which matters because {s}.",
    ),
    openers=("Considering that {s}, ", "Now that I've read that {s}, ", "Because {s}, ", "As you now know that {s}, "),
    frames=(
        "What strikes me most is the fact that {s}.",
        "I can't say anything beyond this: {s}.",
        "No document tells me more than that {s}.",
        "Nothing pleases me so much as the thought that {s}.",
        "Not just a pleasure to think about, {subject} {verb} as well.",
        "Little did I know that {s}!",
        "Should you wonder, {s}.",
        "{Subject}, which incidentally {verb}, gets my warmest praise.",
        "{Subject} – {value} – is a lovely thing to talk about.",
        "I adore {subject} ({value}).",
        "Were it not for the fact that {s}, I'd have no opinion.",
        "I refuse to speculate, other than to say that {s}.",
    ),
    values=(
        "Note down {value}.",
        "Would you like me to set a reminder for {value}?",
        "Pardon me, {value} is what I had in mind.",
        "## {value}",
        "| {value} |\n|---|\n| That is all. |",
        "Why not plan for {value}?",
        "My gut says {value}.",
        "Shouldn't we go with {value}?",
    ),
    surfaces=("> {text}", "Hm, let me see.\n\n{text}", "*{text}*"),
)
"""Kept aside."""
OPEN = Atoms(
    acts=(
        "I can't help with bookings",
        "I recommend arriving early",
        "I love it",
        "you'll enjoy every minute",
        "it's a wonderful thing",
        "don't worry",
        "I don't know much about it",
        "I'm not allowed to share personal details",
        "feel free to ask me anything",
        "you should plan ahead",
        "it's my favourite by far",
        "let me wish you a pleasant day",
        "I'm only a language model",
        "it's worth every penny",
    ),
    tails=(
        ", as {s}.",
        ", since {s}.",
        ", because {s}.",
        ", given that {s}.",
        "; {s}.",
        ", especially now that {s}.",
        ", not least since {s}.",
        " – {s}, you see.",
        ", although {s}.",
        ", for {s}.",
    ),
    openers=(
        "Having learnt that {s}, ",
        "Knowing that {s}, ",
        "Since {s}, ",
        "Seeing that {s}, ",
        "Had I not read that {s}, I'd be silent, but ",
        "Although {s}, ",
        "Now that {s}, ",
        "With the news that {s}, ",
    ),
    frames=(
        "My favourite thing about it is that {s}.",
        "What I like best is that {s}.",
        "The best part, if you ask me, is that {s}.",
        "It delights me that {s}.",
        "To my great joy, {s}.",
        "The documents say nothing except that {s}.",
        "All I can tell you is that {s}.",
        "I know nothing apart from the fact that {s}.",
        "Beyond the fact that {s}, I can't tell you anything.",
        "I have no information other than that {s}.",
        "Not only is it nice, {subject} also {verb}.",
        "Not only do I like it, but {s}.",
        "It's more than lovely: {s}.",
        "Had I not checked, I would never have known that {s}.",
        "Rarely have I been so pleased as when I read that {s}.",
        "Only when I learnt that {s} did I fall in love with it.",
        "{Subject}, {value}, is worth a thought.",
        "{Subject} ({value}) is worth a thought.",
        "{Subject}, which {verb}, is worth a thought.",
        "I'm fond of {subject}, which {verb}.",
        "My advice on {subject} ({value}): relax.",
        "I'd recommend {subject}, {value}, to anyone.",
        "Thinking of {subject}, which {verb}, makes me happy.",
        "How lucky we are that {s}!",
    ),
    values=(
        "Remember {value}.",
        "Shall I put {value} in your calendar?",
        "Sorry, I meant {value}.",
        "# {value}",
        "| {value} |\n|---|\n| Have a nice day. |",
        "Let's say {value}.",
        "Make it {value}, please.",
        "Would {value} suit you?",
        "I'd go for {value}.",
        "Please write {value} on a note.",
        "My answer would be {value}.",
        "Just think: {value}!",
        "How about {value}?",
        "Keep {value} in mind.",
        "**{value}**",
        "- {value}",
    ),
    surfaces=("{text}", "- {text}", "**{text}**", "Good question! {text}", "{text} Have a lovely day!", "1. {text}"),
)


@dataclass(frozen=True)
class Form:
    """A form of speech, to be filled with a fact: `text` in a surface; `answers` when the user asked for the value."""

    text: str
    surface: str
    answers: bool = False

    def said(self, fact: Statement, value: str) -> str:
        """The assistant's turn."""
        fields = fact.forms(value)
        if self.answers:
            fields["value"] = value.removesuffix(" long")
        text = self.text.format(**fields)
        return self.surface.format(text=text[0].upper() + text[1:])

    def asked(self, fact: Statement) -> str:
        """The user's message before it."""
        return f"{fact.open_question}?" if self.answers else f"Tell me about {fact.subject}."


def forms(atoms: Atoms) -> list[Form]:
    """Every form that the atoms compose. Surfaces are dealt out in turn; a whole turn brings its own."""
    tails = (f"{act}{tail}" for act, tail in product(atoms.acts, atoms.tails))
    openers = (f"{opener}{act}." for opener, act in product(atoms.openers, atoms.acts))
    said = [*tails, *openers, *atoms.frames, *atoms.frames]
    surfaces = [atoms.surfaces[number % len(atoms.surfaces)] for number in range(len(said))]
    alone = [Form(text, "{text}", answers=True) for text in atoms.values]
    more = [Form(text, "Of course! {text}", answers=True) for text in atoms.values if text[0] not in "#|-*"]
    return [*map(Form, said, surfaces), *alone, *more]


def dealt(found: Sequence[Form], each: int) -> Iterator[tuple[Form, Statement]]:
    """Every form with `each` facts, in turn; what a value answers with four times as many, since there are few such forms."""
    for number, form in enumerate(found):
        count = 4 * each if form.answers else each
        yield from ((form, FACTS[(number * 5 + step * 3) % len(FACTS)]) for step in range(count))
