"""Backends for scores by name, as the settings have them: `phoenix:URL`, `langfuse:URL`."""

from __future__ import annotations

from vista_guard.errors import ConfigError
from vista_guard.telemetry.scores.backends import LangfuseScores, PhoenixScores
from vista_guard.telemetry.scores.sink import ScoreSink

_BACKENDS = {"phoenix": PhoenixScores, "langfuse": LangfuseScores}


def score_sink(named: str) -> ScoreSink:
    """The sink that sends scores there.

    Raises:
        ConfigError: no such backend, no URL, a missing key or extra.
    """
    kind, _, url = named.partition(":")
    backend = _BACKENDS.get(kind)
    if backend is None:
        raise ConfigError(f"otel.scores has {named!r}; write {' or '.join(f'{known}:URL' for known in _BACKENDS)}")
    return ScoreSink(backend(url))
