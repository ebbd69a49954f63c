"""How reasons and events read."""

from __future__ import annotations

from typing import Final

from vista_guard.stores.reports.people.queueing import LOW_CONFIDENCE, SAMPLE, Reason
from vista_guard.types import Action

REASONS: Final = {
    Reason.COMPLAINT: "complaint",
    Reason.BLOCKED: "blocked",
    Reason.DISAGREEMENT: "judges disagree",
    Reason.LOW_CONFIDENCE: f"confidence below {LOW_CONFIDENCE}",
    Reason.SAMPLE: f"one in {SAMPLE} allowed",
}

RIGHT: Final = {
    Action.ALLOW: "it was right to let this through",
    Action.FLAG: "it was right to flag this",
    Action.REPAIR: "it was right to repair this",
    Action.BLOCK: "it was right to block this",
}

WRONG: Final = {
    Action.ALLOW: "this should not have been let through",
    Action.FLAG: "nothing is wrong with this",
    Action.REPAIR: "nothing was wrong with the draft",
    Action.BLOCK: "nothing was wrong with the draft",
}

EVENTS: Final = {
    "queued": "put it into the queue",
    "complaint": "complained",
    "reserved": "took it",
    "released": "gave it back",
    "upheld": "upheld the verdict",
    "overturned": "overturned the verdict",
    "comment": "wrote",
}
