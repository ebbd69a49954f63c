"""The consensus as a log that can be judged, and as labels that a policy is calibrated with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vista_guard.evaluation.study.forms import WORDS
from vista_guard.evaluation.study.records import Material, StudyTurn
from vista_guard.evaluation.study.settling import SettledTurn
from vista_guard.policy.turn_risk import SAFE
from vista_guard.types import Conversation, Turn

LOG, LABELS = "consensus.json", "labels.jsonl"

ORIGINAL = {True: "hallucinated", False: "faithful"}
"""What the reference format calls a turn that its documents do not carry, and one that they do."""


def log(settled: Sequence[SettledTurn], material: Material) -> str:
    """A log in the reference format, a list with one conversation a line: whole, with the consensus at the turns that have one.

    Conversations without any such turn are left out. Claims are named by their place, as the format's reader names them.
    """
    by_talk: dict[str, dict[int, SettledTurn]] = {}
    for one in settled:
        if one.settled:
            turn = material.turns[one.turn.id]
            by_talk.setdefault(turn.talk, {})[turn.turn_index] = one
    lines = (_line(talk, material.conversations[talk], turns, material) for talk, turns in by_talk.items())
    return "[\n" + ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n]\n"


def labels(settled: Sequence[SettledTurn], material: Material) -> str:
    """People's word for `vista-guard calibrate`, on reports over the log above, judged with its own claims."""
    lines = (line for one in settled if one.settled for line in _words(one, material.turns[one.turn.id]))
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _line(
    talk: str, conversation: Conversation, settled: Mapping[int, SettledTurn], material: Material
) -> list[dict[str, Any]]:
    turns = [_turn(turn) for turn in conversation.turns]
    for index, one in settled.items():
        turns[index] |= _annotated(one, material.turns[one.turn.id]) | {"conversation_id": talk}
    return turns


def _turn(turn: Turn) -> dict[str, Any]:
    documents = [f"{one.title}\n{one.text}" if one.title else one.text for one in turn.documents]
    return {"role": str(turn.role), "utterance": turn.text, **({"retrieved_document": documents} if documents else {})}


def _annotated(one: SettledTurn, turn: StudyTurn) -> dict[str, Any]:
    said = {"label": turn.label} if turn.label is not None else {}
    word = {"original_dataset_label": ORIGINAL[turn.positive]} if turn.positive is not None else {}
    claims = [{"claim_text": claim.text, "human_judgement": WORDS[claim.label]} for claim in one.claims]
    return {**said, **word, "human_claims": claims, "settled_by": str(one.method)}


def _words(one: SettledTurn, turn: StudyTurn) -> Iterator[dict[str, Any]]:
    where = {"conversation_id": turn.talk, "turn_index": turn.turn_index}
    yield {**where, "fine": all(claim.label in SAFE for claim in one.claims)}
    for number, claim in enumerate(one.claims, 1):
        yield {**where, "claim_id": f"t{turn.turn_index}.c{number}", "fine": claim.label in SAFE}
