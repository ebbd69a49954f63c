"""Every error this package raises on purpose.

VistaGuardError
├── ConfigError    a setting, a policy, a persona file or a missing extra; nothing was started
├── InputError     a conversation, a document or a log that cannot be judged as given
├── JudgeError     a judge could not be loaded or could not answer; becomes `Unchecked` inside a turn
│   ├── BudgetError         what a run or a turn may spend is spent; a replay stops, nothing is lost
│   ├── ContextTooLongError the model cannot read that much at once
│   └── UnreadableError     the model's answer says nothing that can be used; carries what it said
├── RecordingError a recorded judge was asked what the recording does not hold; never becomes `Unchecked`
├── StoreError     knowledge, documents or reports could not be read or written
│   └── NoReportsError      no guard has written reports to this place yet
└── Blocked        a turn was withheld and the caller asked for an exception; carries the report
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vista_guard.types import TurnReport


class VistaGuardError(Exception):
    """Base of every error raised on purpose. Its message names the thing, the value and the next step."""


class ConfigError(VistaGuardError):
    """A setting, policy, persona file or installation is wrong."""


class InputError(VistaGuardError):
    """A conversation, document or log cannot be judged as given."""


class JudgeError(VistaGuardError):
    """A judge could not be loaded, or could not answer."""


class BudgetError(JudgeError):
    """The budget of a run or of a turn is spent. Inside a turn: `Unchecked`; a replay stops and can be gone on with."""


class ContextTooLongError(JudgeError):
    """The model cannot read that much at once."""


class UnreadableError(JudgeError):
    """The model's answer says nothing that can be used.

    Attributes:
        raw: what it said.
    """

    def __init__(self, message: str, raw: str) -> None:
        super().__init__(message)
        self.raw = raw


class RecordingError(VistaGuardError):
    """A recorded judge was asked what its recording does not hold. Fails loudly: it is for tests and experiments."""


class StoreError(VistaGuardError):
    """Knowledge, documents or reports could not be read or written."""


class NoReportsError(StoreError):
    """The database of reports is not there, or has no tables: no guard has written to it yet."""


class Blocked(VistaGuardError):
    """The policy withheld a turn, and the caller asked for an exception instead of a replacement.

    Attributes:
        report: the whole report of the withheld turn.
    """

    def __init__(self, report: TurnReport) -> None:
        # Hosts write down what exceptions say: in checkpoints, traces and logs, where no word of the draft may be.
        super().__init__(f"policy {report.policy} withheld turn {report.turn_index}; the exception's report says why")
        self.report = report
