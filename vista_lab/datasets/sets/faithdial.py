"""FaithDial (Dziri et al. 2022): Wizard of Wikipedia's dialogues, whose hallucinated responses people labelled and edited.

A JSON list of dialogues with `utterances`: of each wizard's turn `history` (all that was said before), `knowledge`, `response`
(edited), `original_response` and its `BEGIN` labels. The original response is evaluated, as in VISTA (§4.1); where there is
none, the response was not edited. Written from the publisher's description.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vista_guard.errors import InputError
from vista_guard.types import Conversation, Turn
from vista_lab.datasets.files import Row, answer, documents, json_rows, reader, turns_of
from vista_lab.logs.source import LoggedConversation, TurnGold

HALLUCINATION = "Hallucination"
WORDS = frozenset((HALLUCINATION, "Entailment", "Generic", "Uncooperative"))


def _conversation(row: Row) -> Iterator[LoggedConversation]:
    turns: list[Turn] = []
    gold: dict[int, TurnGold] = {}
    for utterance in row.parts("utterances"):
        turns += _new_turns(utterance, len(turns))
        turn_gold = _gold(utterance)
        if turn_gold is not None:
            gold[len(turns)] = turn_gold
        turns.append(answer(_response(utterance), documents([utterance.text("knowledge")])))
    if not turns:
        raise InputError("utterances is empty")
    identity = f"faithdial-{row.stem}-{row.name('dialog_idx')}"
    yield LoggedConversation(Conversation(turns=tuple(turns), id=identity), labels={}, line=row.line, gold=gold)


def _new_turns(utterance: Row, heard: int) -> Sequence[Turn]:
    """New turns of the history. The wizard's earlier turns in it are edited ones; the originals are there already."""
    history = utterance.texts("history")
    if heard and len(history) <= heard:
        raise InputError(f"{utterance.place}: its history has {len(history)} turns; the dialogue has {heard} before it")
    return turns_of(history[heard:])


def _response(utterance: Row) -> str:
    original = utterance.content.get("original_response")
    return original if isinstance(original, str) and original.strip() else utterance.nonblank("response")


def _gold(utterance: Row) -> TurnGold | None:
    if not utterance.content.get("BEGIN"):
        return None
    words = utterance.texts("BEGIN")
    strange = [word for word in words if word not in WORDS]
    if strange:
        raise InputError(f"{utterance.place}: BEGIN is {strange[0][:80]!r}; the labels are {', '.join(sorted(WORDS))}")
    return TurnGold(", ".join(words), HALLUCINATION in words)


read = reader(json_rows, _conversation)
"""Every wizard's turn with BEGIN labels has gold."""
