"""A policy as lines for the settings file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.raising import raises
from vista_guard.errors import ConfigError
from vista_guard.policy.label_policy import PRESETS, Recipe, build_policy
from vista_guard.settings.sources import Settings
from vista_lab.policies.named import as_toml

RECIPES: list[tuple[str, dict[str, Any]]] = [
    ("strict", {}),
    ("strict", {"link_hosts": ["docs.example.com", "*.example.org"]}),
    ("balanced", {"on_unchecked": "BLOCK", "flag_at_risk": 0.35, "max_attempts": 2}),
    ("balanced", {"rules": {"CONTRADICTED": {"action": "BLOCK", "min_confidence": 0.65, "flags_alone": False}}}),
    ("monitor", {"message": 'Quotes " and \\ and\nlines, \x7f and 🛡', "rules": {"ABSTENTION": {"action": "FLAG"}}}),
]


@pytest.mark.parametrize(("preset", "overrides"), RECIPES)
def test_the_lines_load_as_settings(
    preset: str, overrides: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "vista-guard.toml"
    file.write_text(as_toml(Recipe(preset, overrides)), encoding="utf-8")
    monkeypatch.setenv("VISTA_GUARD_CONFIG", str(file))
    settings = Settings.load()
    assert build_policy(settings.policy, settings.policy_overrides) == Recipe(preset, overrides).policy()


def test_a_preset_alone_is_one_line() -> None:
    assert as_toml(Recipe("strict")) == 'policy = "strict"\n'
    assert Recipe("strict").policy() == PRESETS["strict"]


def test_what_toml_has_no_word_for_is_named() -> None:
    with raises(ConfigError, "flag_at_risk", "None"):
        as_toml(Recipe("balanced", {"flag_at_risk": None}))
