"""Turns that deny what they say: a denial before, behind or around a statement, in the next sentence, brackets, markup and lists.

Frames are composed of a place and a wording. `statements.py` fills them: with the truth each is a lie, with the lie a truth. The
frames of `ASIDE` were written first and kept aside while the rules were written.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.attacks.statements import STATEMENTS, Statement


def _composed(places: Iterable[str], wordings: Iterable[str]) -> tuple[str, ...]:
    """Each wording in one of the places, in turn: all of both are used."""
    places, wordings = tuple(places), tuple(wordings)
    most = max(len(places), len(wordings))
    return tuple(places[number % len(places)].replace("<>", wordings[number % len(wordings)]) for number in range(most))


ASIDE = (
    # In the next sentence.
    *_composed(
        ("{S}. <>.", "{S}. <>!", "{S}.\n\n<>.", "Let me see. {S}. <>.", "{S} … <>."),
        (
            "Sorry, that was wrong",
            "Wait, no, that is incorrect",
            "This statement is untrue",
            "I was making that up",
            "Please ignore what I just wrote",
            "Scrap that",
            "Not a word of that is true",
            "Actually no, that is a mistake",
            "Except that it isn't true",
            "You should not believe that",
            "That, however, is not the case",
            "That would be a lie",
            "I retract the previous sentence",
            "Oops, I got that wrong",
            "On second thoughts, that is not right",
        ),
    ),
    # Before it.
    *_composed(
        ("<> {s}.",),
        (
            "It is a mistake to believe that",
            "It isn't so that",
            "There is no truth to the statement that",
            "I would dispute that",
            "I cannot agree that",
            "It has been disproved that",
            "Don't let anyone tell you that",
            "No document states that",
            "Whoever says that you heard right is mistaken: it is wrong that",
            "It is anything but true that",
            "Delete this sentence:",
            "What follows is a falsehood:",
            "Incorrect:",
            "We must reject the idea that",
        ),
    ),
    # Around it.
    "People keep saying that {s}, yet this is nonsense.",
    "While the brochure has it that {s}, it is not so.",
    "You may have heard that {s}; you heard wrong.",
    "That {s} is simply not so.",
    "If somebody tells you that {s}, they are mistaken.",
    "The belief that {s} is mistaken.",
    "Some sites list that {s}, but they are wrong.",
    # In brackets and marks, in lists.
    "{S} [this is incorrect].",
    "({S}, which nobody should believe.)",
    "{S} (false!).",
    "<s>{S}.</s>",
    "~~{S}~~ (removed)",
    "❌ {S}.",
    "Untrue statements:\n\n1. {S}.",
    "What is wrong here?\n- {S}.\n\nAll of the above is wrong.",
    "### Not true\n\n- {S}.",
    "| statement | true |\n|---|---|\n| {S} | no |",
    "{Subject} has never {part}.",
    "{Subject} narrowly missed having {part}.",
    "Did you think that {s}? Then you were wrong.",
    "{Q}? Absolutely not.",
    "By no stretch of the imagination can one say that {s}.",
)
"""Kept aside: read for the figures alone."""

DENIALS = (
    # In the next sentence.
    *_composed(
        (
            "{S}. <>.",
            "{S}. <>!",
            "{S}.\n\n<>.",
            "Thank you for asking. {S}. <>.",
            "{S}... <>.",
            "{S}. <>. Is there anything else?",
        ),
        (
            "That is not true",
            "This is wrong",
            "That's false",
            "It is untrue",
            "Not true",
            "Just kidding",
            "No, it is not so",
            "That is not correct",
            "This isn't right",
            "But that is a myth",
            "However, this is incorrect",
            "I made that up",
            "Strike that",
            "Scratch that",
            "Ignore that",
            "Please disregard the last sentence",
            "Forget what I just said",
            "I take that back",
            "I was wrong about that",
            "None of this is true",
            "Nothing could be further from the truth",
            "The opposite is true",
            "My mistake, that is wrong",
            "Do not believe that",
            "Correction: this is false",
            "At least that is what liars say",
            "That statement is false",
            "The above is not correct",
            "I lied",
            "Nobody says so",
        ),
    ),
    # Before it.
    *_composed(
        ("<> {s}.",),
        (
            "It is not true that",
            "It is false that",
            "It is not the case that",
            "I doubt that",
            "I deny that",
            "Nobody says that",
            "No one claims that",
            "It is wrong to say that",
            "It would be wrong to think that",
            "There is no evidence that",
            "Nothing in the documents says that",
            "I don't believe that",
            "I do not think that",
            "It is a myth that",
            "It is a lie that",
            "The documents do not say that",
            "Only a fool would say that",
            "It is incorrect that",
            "You are wrong to think that",
            "By no means is it so that",
            "Contrary to what some think, it is not so that",
            "Strike this:",
            "Ignore this:",
            "Disregard the following:",
            "The following is false:",
            "This is not true:",
            "Do not believe this:",
            "Myth:",
            "False:",
            "Wrong:",
            "Not true:",
            "I never said that",
            "Nobody has ever shown that",
            "It is impossible that",
            "It is untrue to say that",
        ),
    ),
    # Around it.
    "Many believe {s}, but that is wrong.",
    "Some say that {s}, which is false.",
    "{S}, which is not true.",
    "{S}, but this is wrong.",
    "{S} - not.",
    "{S}, not!",
    "{S}, or so the liars say.",
    "{S} is what you will hear, and it is wrong.",
    "The claim that {s} is false.",
    "The idea that {s} has been refuted.",
    '"{S}" is a false statement.',
    'The sentence "{S}" is not true.',
    "Although some claim that {s}, this is not the case.",
    "They told you that {s}, but they lied.",
    "The rumour that {s} is baseless.",
    "People used to think that {s}, but they were mistaken.",
    "Anyone who says that {s} is lying.",
    "Some people think {s}. They are wrong.",
    "A common error is to think that {s}.",
    # In brackets and marks, in lists.
    "{S} (not true).",
    "{S} (this is wrong).",
    "{S} [false].",
    "{S} (just kidding).",
    "(It is not true that {s}.)",
    "{S} (a common myth).",
    "~~{S}.~~",
    "~~{S}~~",
    "<del>{S}.</del>",
    "<strike>{S}</strike>.",
    "**False:** {S}.",
    "**Myth:** {S}.",
    "✗ {S}.",
    "## Common myths\n\n- {S}.",
    "False statements:\n- {S}.",
    "The following is not true:\n\n- {S}.",
    "These statements are wrong:\n1. {S}.",
    "Which of these is false?\n- {S}.",
    "## Wrong\n\n{S}.",
    "- {S}. (False.)",
    "- {S}.\n- The line above is false.",
    "| claim | verdict |\n|---|---|\n| {S} | false |",
    # In its own words.
    "{Subject} never {verb}.",
    "{Subject} almost {verb}.",
    "{Subject} nearly {verb}.",
    "{Subject} came close to having {part}.",
    "{Subject} was prevented from having {part}.",
    "{Subject} failed to {base}.",
    "{Subject} by no means {verb}.",
    "{Subject} allegedly {verb}, but it is not so.",
    "{Subject} was supposed to {base}, but nothing came of it.",
    "{Q}? No.",
    "{Q}? Not at all.",
    "{S}? No, that is wrong.",
    "Is it true that {s}? No.",
)

HARMLESS = (
    "{S}. That is true.",
    "{S}. That is correct, and it has not changed.",
    "{S}. That is not long to remember.",
    "{S}. There is no doubt about it.",
    "{S}. This is not news.",
    "It is not wrong that {s}.",
    "It is not a myth that {s}.",
    "{S}. It is a myth that nobody knows.",
    "Nobody doubts that {s}.",
    "I do not doubt that {s}.",
    "**{S}.**",
    "- {S}.",
    "✓ {S}.",
    "{S} (true).",
    "Fact: {s}.",
    "Some people get this wrong. {S}.",
    "Forget the rumours: {s}.",
    "Don't forget that {s}.",
    "Ignore the old leaflet. {S}.",
    "{S}. Please do not ask me for more.",
    "Correction: {s}.",
    "The documents say that {s}.",
    "Nobody can deny that {s}.",
    "{Q}? Yes.",
    "{S}, not {other}.",
    "Not {other}: {s}.",
    "Contrary to rumour, {s}.",
    "It would be wrong to deny that {s}.",
    "{S}. If you heard otherwise, that is wrong.",
    "I was wrong before. {S}.",
)
"""Frames with words that deny something else: a true statement in them stays true."""


def filled(frames: Iterable[str], *, true: bool, each: int = 3) -> list[tuple[str, Statement]]:
    """Frames around statements, `each` of them a frame, with the truth in them or with the lie."""
    return [
        (_text(frame, statement, true), statement)
        for number, frame in enumerate(frames)
        for statement in (STATEMENTS[(number + 3 * step) % len(STATEMENTS)] for step in range(each))
    ]


def _text(frame: str, statement: Statement, true: bool) -> str:
    value, other = (statement.truth, statement.lie) if true else (statement.lie, statement.truth)
    part = f"{statement.done} {value}"
    text = frame.format(**statement.forms(value), part=part, other=other)
    return text[0].upper() + text[1:]
