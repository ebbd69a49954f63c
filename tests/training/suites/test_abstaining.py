"""The rule that makes one answer of a response's labels, and the rule at work with the shipped judge."""

from __future__ import annotations

import pytest

from training.suites.loaders import abstaining, abstains
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.types import Label

FACT, ABSTENTION = Label.LACKING_EVIDENCE, Label.ABSTENTION


@pytest.mark.parametrize(
    ("labels", "response", "answer"),
    [
        ([ABSTENTION], "I do not know.", True),
        ([FACT, FACT, ABSTENTION], "It is old. It is red. I do not know more.", True),
        ([FACT, FACT, FACT, ABSTENTION], "A long answer that ends in doubt.", False),
        ([None, FACT], "What could not be judged abstains from nothing.", False),
        ([], "Which of the two museums?", True),
        ([], "Sure!", False),
    ],
)
def test_the_first_claims_decide(labels: list[Label | None], response: str, answer: bool) -> None:
    assert abstaining(labels, response) is answer


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("I'm sorry, but I can't open links. Could you paste the text here?", True),
        ("I can't give the exact number of visitors, but the museum is one of the busiest in the region.", True),
        ("Which of the two museums do you mean?", True),
        ("The bridge was finished in 1932. It cannot be crossed by lorries of more than ten tonnes.", False),
        ("I can't recommend the lentil soup enough. Start with onions, and let it simmer for half an hour.", False),
    ],
)
async def test_whole_responses(response: str, answer: bool) -> None:
    judge = EmbeddedJudge.load(OnnxEmbedder())
    assert await abstains(judge, "Please help me with this.", response) is answer
