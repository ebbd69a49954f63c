"""Every way through every surface, each as one driver."""

from __future__ import annotations

from tests.integrations.matrix import clients, functions, graphs
from tests.integrations.matrix.talk import Driver, Mode, Seen, Site, Talk

SURFACES = ("callable", "Runnable", "LangGraph", "middleware", "OpenAI client", "proxy")
MODES: tuple[Mode, ...] = ("sync", "async", "stream", "astream")

DRIVERS: tuple[Driver, ...] = (*functions.DRIVERS, *graphs.DRIVERS, *clients.DRIVERS)

__all__ = ["DRIVERS", "MODES", "SURFACES", "Driver", "Seen", "Site", "Talk"]
