"""Where a turn's trace begins, and what it is told at its end."""

from __future__ import annotations

from vista_guard.telemetry.config import Telemetry
from vista_guard.telemetry.turns import TurnTrace
from vista_guard.turn.work import Work


def traced(work: Work, telemetry: Telemetry) -> Work:
    """The work of a draft, with a trace: its own, where it has one already."""
    if work.trace is not None:
        return work
    return work.with_(trace=TurnTrace(telemetry, work.conversation.id, work.index))


def traced_from_agent(work: Work, telemetry: Telemetry) -> Work:
    """As `traced`, of a turn that has no draft yet: its agent is going to be asked."""
    if work.trace is not None:
        return work
    index = len(work.conversation.turns)
    return work.with_(trace=TurnTrace(telemetry, work.conversation.id, index, agent=True))


def finish(work: Work) -> None:
    """Ends the turn's trace with its report. A turn without a word is none: nothing was judged."""
    trace = work.trace
    if trace is None:
        return
    if not work.turn.text:
        trace.end_unspoken()
        return
    trace.finish(work.finished, work.conversation, repair=work.repair and work.repair.value)
