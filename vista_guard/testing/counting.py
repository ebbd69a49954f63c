"""Token numbers of the scripted server: counted roughly, with a prefix cache as endpoints have one."""

from __future__ import annotations

from vista_guard.testing.script import Answer, ReceivedRequest, count_tokens
from vista_guard.types import Usage


class PrefixCache:
    """Remembers answered prompts in blocks of `block` tokens, model by model.

    A prompt's leading blocks that an earlier answered prompt began with are cached; calls at the same time do not help
    each other.
    """

    def __init__(self, block: int) -> None:
        self._block = block
        self._known: set[int] = set()

    def cached_tokens(self, request: ReceivedRequest) -> int:
        """How many tokens at the start of this prompt are cached."""
        blocks = self._blocks(request)
        hits = next((number for number, block in enumerate(blocks) if block not in self._known), len(blocks))
        return hits * self._block

    def add(self, request: ReceivedRequest) -> None:
        """This prompt has been answered."""
        self._known.update(self._blocks(request))

    def _blocks(self, request: ReceivedRequest) -> list[int]:
        prompt, size = request.prompt, 4 * self._block
        chained, blocks = hash(request.model), []
        for start in range(0, len(prompt) - size + 1, size):
            chained = hash((chained, prompt[start : start + size]))
            blocks.append(chained)
        return blocks


def counted(request: ReceivedRequest, answer: Answer, cached: int) -> Usage | None:
    """What the answer reports: the given numbers, else rough ones. None when it reports none."""
    if not answer.usage:
        return None
    said = answer.refusal if answer.refusal is not None else answer.text or ""
    choices = request.body.get("n") or 1
    output = answer.output_tokens if answer.output_tokens is not None else count_tokens(said) * choices
    given = answer.input_tokens if answer.input_tokens is not None else count_tokens(request.prompt)
    return Usage(
        calls=1,
        input_tokens=given,
        output_tokens=output,
        cached_tokens=min(cached if answer.cached_tokens is None else answer.cached_tokens, given),
    )


def waves(requests: list[ReceivedRequest]) -> int:
    """Length of the longest run of requests of which each began after the one before had ended."""
    count, last_end = 0, float("-inf")
    for request in sorted(requests, key=lambda request: float("inf") if request.ended is None else request.ended):
        if request.started >= last_end:
            count += 1
            last_end = float("inf") if request.ended is None else request.ended
    return count
