"""Policies by name and by file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.raising import raises
from vista_guard.errors import ConfigError
from vista_guard.policy.label_policy import Recipe
from vista_guard.settings.sources import Settings
from vista_guard.types import Action, Label
from vista_lab.policies.named import NamedPolicy, as_toml, named_policy

SETTINGS = Settings(policy="strict", policy_overrides={"on_unchecked": "FLAG"}, risk_table=Path("risk.json"))


def test_a_preset_is_plain_and_the_settings_have_their_overrides() -> None:
    assert named_policy("strict", SETTINGS) == NamedPolicy("strict", Recipe("strict"), Path("risk.json"))
    found = named_policy("settings", SETTINGS)
    assert found == NamedPolicy("settings", Recipe("strict", {"on_unchecked": "FLAG"}), Path("risk.json"))
    assert found.recipe.policy().on_unchecked is Action.FLAG


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.toml",
            'policy = "strict"\nrisk_table = "own.json"\n[policy_overrides.rules.CONTRADICTED]\naction = "FLAG"\n',
        ),
        (
            "a.yaml",
            "policy: strict\nrisk_table: own.json\nstore: memory\npolicy_overrides: {rules: {CONTRADICTED: {action: FLAG}}}\n",
        ),
    ],
)
def test_a_file_has_what_a_settings_file_has(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    found = named_policy(str(path), SETTINGS)
    assert (found.name, found.risk_table) == (str(path), Path("own.json"))
    assert found.recipe.policy().rules[Label.CONTRADICTED].action is Action.FLAG
    # What the lab prints for a settings file is such a file.
    path = tmp_path / "again.toml"
    path.write_text(as_toml(found.recipe), encoding="utf-8")
    assert named_policy(str(path), SETTINGS).recipe.policy() == found.recipe.policy()


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("a.toml", "", ("a.toml",)),
        ("a.toml", "policy = ", ("a.toml", "TOML")),
        ("a.yaml", "{", ("a.yaml", "YAML")),
        ("a.yaml", "policy: strict\npolicy: monitor", ("a.yaml", "YAML", "policy")),
        (
            "a.yaml",
            "polcy: strict",
            ("polcy", "policy", "policy_overrides", "risk_table"),
        ),
        ("a.yaml", "policy: 7", ("policy",)),
        ("a.yaml", "policy: lax", ("policy", "a.yaml", "lax")),
        ("a.yaml", "policy: monitor\npolicy_overrides: {on_unchecked: BLOCK}", ("policy",)),
        ("a.yaml", None, ("a.yaml",)),
        ("lax", None, ("policy", "lax")),
    ],
)
def test_a_file_that_makes_no_sense(tmp_path: Path, name: str, text: str | None, error: tuple[str, ...]) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with raises(ConfigError, *error):
        named_policy(str(path), SETTINGS)
