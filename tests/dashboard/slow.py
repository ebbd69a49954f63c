"""The command, with a database that takes its time over whole conversations: `python -m tests.dashboard.slow dashboard …`."""

from __future__ import annotations

import time
from typing import Any

from vista_guard.cli import main
from vista_guard.dashboard.scoped import ScopedReports

SECONDS = 4.0

if __name__ == "__main__":
    at_once = ScopedReports.conversation

    def late(self: ScopedReports, *given: Any, **named: Any) -> Any:
        """The conversation, when the seconds are over."""
        time.sleep(SECONDS)
        return at_once(self, *given, **named)

    ScopedReports.conversation = late  # type: ignore[method-assign]
    main()
