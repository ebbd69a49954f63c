"""Errors as pages: what was raised on purpose is shown with what to do; anything else goes to the log."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from vista_guard.dashboard.parts.states import show_problem
from vista_guard.errors import StoreError, VistaGuardError

P = ParamSpec("P")

logger = logging.getLogger("vista_guard")


def shown(draw_it: Callable[P, None]) -> Callable[P, None]:
    """The function, with its errors drawn in its place. For pages, and for fragments, which run without their page."""

    @wraps(draw_it)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            draw_it(*args, **kwargs)
        except StoreError as exc:
            show_problem("The reports cannot be read", exc, "When that is mended, load the page anew.")
        except VistaGuardError as exc:
            show_problem("This cannot be shown", exc)
        except Exception:
            # What it says may quote a conversation: it goes to the log of whoever runs this, not into the page.
            logger.exception("%s failed", draw_it.__name__)
            show_problem(
                "This page failed", "Nobody foresaw this error. The dashboard's log has it.", "Load the page anew."
            )

    return guarded
