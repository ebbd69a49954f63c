"""Sets of questions that come without an assistant's answers: what an assistant is asked, and what a good answer holds.

Source: KnowMT-Bench, §3.1 and §3.2. An item's dialogue ends in the question whose answer is scored.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QuestionItem:
    """One dialogue to hold with an assistant."""

    id: str
    questions: tuple[str, ...]
    """What the user says, turn by turn. The answer to the last question is scored."""
    single: str
    """The same question asked alone; the last of `questions` where the set brings none."""
    answer: str = ""
    """The reference answer. Empty where the set brings none."""
    facts: tuple[str, ...] = ()
    """What a good answer must say."""
    domains: tuple[str, ...] = ()
    source: str = ""
    """The set that the item was made from."""
    url: str = ""
    documents: tuple[str, ...] = ()
    """What answers may be drawn from, where the set brings documents of its own."""
