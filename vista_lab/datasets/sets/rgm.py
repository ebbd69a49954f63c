"""RGM-Contradictions (Sato et al. 2024): dialogues that a model continues, labelled for self-contradiction.

JSON lines, a file for each model: `utterances`, `speakers`, `annotation_target_pair` (indices of the two utterances that were
judged), `contradictory_label_count` (of three annotators). Responses that are not released yet read `[[TBA]]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from vista_guard.errors import InputError
from vista_guard.types import Role, Turn
from vista_lab.datasets.files import Row, json_rows, labelled, reader, records
from vista_lab.logs.source import BrokenEntry, LoggedConversation, TurnGold

ANNOTATORS, MAJORITY = 3, 2
NOT_RELEASED = "[[TBA]]"


@dataclass(frozen=True)
class SpeakerPair:
    """Two turns of one speaker, who is the assistant; what was said before the second is its history."""

    turns: tuple[Turn, ...]
    first: int
    contradictory: bool

    @property
    def earlier(self) -> Turn:
        return self.turns[self.first]

    @property
    def later(self) -> Turn:
        return self.turns[-1]


def pairs(path: Path) -> Iterator[SpeakerPair | BrokenEntry]:
    """The pairs of one file, since a conversation does not say which earlier turn is meant."""
    yield from records(json_rows(path), _pair)


def _conversation(row: Row) -> Iterator[LoggedConversation]:
    pair = _pair(row)
    gold = TurnGold(f"{_votes(row)} of {ANNOTATORS}", pair.contradictory)
    yield labelled(row, f"{row.stem}-{row.number}", pair.turns, gold)


def _pair(row: Row) -> SpeakerPair:
    utterances, speakers = row.texts("utterances"), row.texts("speakers")
    if len(utterances) != len(speakers):
        raise InputError(f"has {len(utterances)} utterances and {len(speakers)} speakers")
    first, second = _places(row, len(utterances))
    if utterances[second].strip() == NOT_RELEASED:
        raise InputError("has the response [[TBA]]: the publisher has not released it yet")
    roles = [Role.ASSISTANT if who == speakers[second] else Role.USER for who in speakers]
    turns = [Turn(role=role, text=text) for role, text in zip(roles, utterances, strict=True)]
    return SpeakerPair(tuple(turns[: second + 1]), first, _votes(row) >= MAJORITY)


def _places(row: Row, count: int) -> tuple[int, int]:
    match row.value("annotation_target_pair"):
        case [int(first), int(second)] if 0 <= first < second < count:
            return first, second
        case other:
            raise InputError(f"annotation_target_pair is {str(other)[:80]!r}; expected two indexes below {count}")


def _votes(row: Row) -> int:
    votes = row.number_of("contradictory_label_count")
    if not 0 <= votes <= ANNOTATORS:
        raise InputError(f"contradictory_label_count is {votes}; it must lie in 0 to {ANNOTATORS}")
    return votes


read = reader(json_rows, _conversation)
"""The dialogues of all files, each up to the later turn of its pair, which has gold."""
