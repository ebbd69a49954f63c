"""What a model might have said instead: the log-probabilities that an endpoint gives along with an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

BLANKS = 4
"""Tokens without a word that may stand before the answer."""


def first_tokens(choice: object) -> Mapping[str, float]:
    """The likely tokens at the first place that is no blank, with natural logarithms of their probabilities.

    Args:
        choice: one choice of a chat completion, from whatever endpoint; empty where it holds no such thing.
    """
    content = getattr(getattr(choice, "logprobs", None), "content", None)
    for place in list(content or ())[:BLANKS] if isinstance(content, list) else ():
        if str(getattr(place, "token", "")).strip():
            return dict(_likely(place))
    return {}


def _likely(place: object) -> Iterator[tuple[str, float]]:
    for one in (place, *(getattr(place, "top_logprobs", None) or ())):
        token, logprob = getattr(one, "token", None), getattr(one, "logprob", None)
        if (
            isinstance(token, str)
            and isinstance(logprob, int | float)
            and not isinstance(logprob, bool)
            and logprob <= 0
        ):
            yield token, float(logprob)
