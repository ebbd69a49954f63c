"""The reference implementation's logs: a conversation is a list of turns, some annotated with claims and human labels.

    {"role": "assistant", "utterance": "…", "retrieved_document": "… or N/A", "dataset": "AIS", "conversation_id": 7,
     "original_dataset_label": "faithful", "human_claims": [{"claim_text": "…", "human_judgement": "verifiable"}]}

`group`, which the reference lacks, is the cluster of a turn (see `TurnGold`). The released human evaluation of VISTA (§5)
is such a file. Its `turn_index` counts within another file and is ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vista_guard.errors import InputError
from vista_guard.types import Claim, Conversation, Document, Label, Role, Turn
from vista_lab.logs.registry import LogFormat
from vista_lab.logs.roles import known_role
from vista_lab.logs.source import UNANSWERED, LoggedConversation, LogValue, Omission, TurnGold

NO_DOCUMENT = frozenset({"", "n/a", "na", "none"})

ORIGINAL = {"faithful": False, "hallucinated": True}
"""Values of `original_dataset_label` for turns with and without support in their documents."""

JUDGEMENTS = {
    "verifiable": Label.VERIFIED,
    "verified": Label.VERIFIED,
    "out of scope": Label.OUT_OF_SCOPE,
    "contradicted": Label.CONTRADICTED,
    "lacking evidence": Label.LACKING_EVIDENCE,
    "abstention": Label.ABSTENTION,
}


def parse(value: LogValue) -> LoggedConversation:
    """Reads a list of turns as a conversation; its id is `{dataset}-{conversation_id}`, as ids repeat over datasets.

    Raises InputError for a turn or claim of another shape; names its index and the value.
    """
    if not isinstance(value.content, list):
        raise InputError(f"is {type(value.content).__name__}; a conversation of this format is a list of turns")
    if not value.content:
        raise InputError("has no turns")
    labels: dict[str, Label] = {}
    turns = [_turn(index, turn, labels) for index, turn in enumerate(value.content)]
    conversation = Conversation(turns=tuple(turns), id=_identity(value, value.content))
    answered = any(turn.role is Role.ASSISTANT for turn in turns)
    omissions = () if answered else (Omission(UNANSWERED),)
    return LoggedConversation(conversation, labels, value.line, _gold(value.content), omissions=omissions)


def _gold(turns: list[Any]) -> dict[int, TurnGold]:
    """The original data set's labels of turns. A label other than its two leaves the turn open."""
    gold = {}
    for place, turn in enumerate(turns):
        if (word := turn.get("original_dataset_label")) is not None:
            gold[place] = TurnGold(str(word), ORIGINAL.get(str(word)), str(turn.get("group") or ""))
    return gold


def _turn(index: int, turn: object, labels: dict[str, Label]) -> Turn:
    if not isinstance(turn, Mapping) or not isinstance(turn.get("utterance"), str):
        raise InputError(f"turn {index} is {str(turn)[:80]!r}; expected a mapping with role and utterance")
    try:
        role = known_role(turn.get("role"))
    except InputError as exc:
        raise InputError(f"turn {index} {exc}") from exc
    if role == Role.ASSISTANT and not turn["utterance"].strip():
        raise InputError(f"turn {index} (assistant) has no text in its utterance")
    claims = turn.get("human_claims", turn.get("claims"))
    documents = _documents(index, turn.get("retrieved_document"))
    own = None if claims is None else _claims(index, claims, labels)
    return Turn(role=Role(role), text=turn["utterance"], documents=documents, claims=own)


def _documents(index: int, raw: object) -> tuple[Document, ...]:
    texts = raw if isinstance(raw, list) else [raw]
    if not all(text is None or isinstance(text, str) for text in texts):
        raise InputError(f"turn {index} has the retrieved_document {str(raw)[:80]!r}; expected a text or texts")
    kept = [text for text in texts if isinstance(text, str) and text.strip().lower() not in NO_DOCUMENT]
    return tuple(Document(id=f"t{index}.d{number}", text=text) for number, text in enumerate(kept, 1))


def _claims(index: int, items: object, labels: dict[str, Label]) -> tuple[Claim, ...]:
    if not isinstance(items, list):
        raise InputError(f"turn {index} has the claims {str(items)[:80]!r}; expected a list")
    claims = []
    for number, item in enumerate(items, 1):
        claim = Claim(id=f"t{index}.c{number}", text=_claim_text(index, number, item))
        if isinstance(item, Mapping) and item.get("human_judgement") is not None:
            labels[claim.id] = _label(claim.id, item["human_judgement"])
        claims.append(claim)
    return tuple(claims)


def _claim_text(index: int, number: int, item: object) -> str:
    text = item.get("claim_text") if isinstance(item, Mapping) else item
    if not isinstance(text, str):
        raise InputError(f"claim {number} of turn {index} is {str(item)[:80]!r}; expected a mapping with claim_text")
    return text


def _label(claim_id: str, judgement: Any) -> Label:
    name = str(judgement).strip().lower().replace("_", " ").replace("-", " ")
    if name not in JUDGEMENTS:
        known = ", ".join(JUDGEMENTS)
        raise InputError(f"claim {claim_id} has the human_judgement {judgement!r}; the judgements are {known}")
    return JUDGEMENTS[name]


def _identity(value: LogValue, turns: list[Any]) -> str:
    def first(key: str) -> Any:
        return next((turn[key] for turn in turns if turn.get(key) is not None), None)

    dataset, number = first("dataset"), first("conversation_id")
    return value.first_id(number if dataset is None or number is None else f"{dataset}-{number}")


FORMAT = LogFormat("reference", parse=parse, lists=True)
