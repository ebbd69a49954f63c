"""What tracers of the host see of the guard's own work: nothing, unless its user says so."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def untraced() -> Iterator[None]:
    """LangSmith records nothing inside, whatever the environment or a surrounding run says. For a function, not across a `yield`.

    Where nothing would be recorded anyway there is nothing to do: LangChain loads LangSmith before anything can be recorded, and
    both ask this one function whether to record.
    """
    if "langsmith" not in sys.modules:
        yield
        return
    from langsmith import tracing_context
    from langsmith.utils import tracing_is_enabled

    if not tracing_is_enabled():
        yield
        return

    with tracing_context(enabled=False):
        yield
