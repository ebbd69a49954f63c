"""What a dashboard shows beside stored reports: runs of `vista-guard replay`, people's labels, the policy of the settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vista_guard.evaluation.whatif.recipe import Recipe


@dataclass(frozen=True)
class Material:
    """Files and settings that pages read.

    `runs` are files of reports, or folders with some. `labels` is what people said of turns: labels as for `vista-guard
    calibrate`, or a log whose claims are labelled. `policy` and `risk_table` are those of the settings.
    """

    runs: tuple[Path, ...] = ()
    labels: Path | None = None
    policy: Recipe = field(default_factory=lambda: Recipe("balanced"))
    risk_table: Path | None = None


def gathered(runs: tuple[Path, ...] = (), labels: Path | None = None) -> Material:
    """With what the settings say.

    Raises:
        ConfigError: the settings cannot be read.
    """
    from vista_guard.settings.sources import Settings

    settings = Settings.load()
    overrides: dict[str, Any] = dict(settings.policy_overrides)
    return Material(runs, labels, Recipe(settings.policy, overrides), settings.risk_table)
