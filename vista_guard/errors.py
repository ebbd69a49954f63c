"""Every error this package raises on purpose.

VistaGuardError
├── ConfigError    a setting, a policy, a persona file or a missing extra; nothing was started
├── InputError     a conversation, a document or a log that cannot be judged as given
├── JudgeError     a judge could not be loaded or could not answer; becomes `Unchecked` inside a turn
├── StoreError     knowledge, documents or reports could not be read or written
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


class StoreError(VistaGuardError):
    """Knowledge, documents or reports could not be read or written."""


class Blocked(VistaGuardError):
    """The policy withheld a turn, and the caller asked for an exception instead of a replacement.

    Attributes:
        report: the whole report of the withheld turn.
    """

    def __init__(self, report: TurnReport) -> None:
        super().__init__(report.decision.reason)
        self.report = report
