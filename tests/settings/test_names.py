"""Names of a setting: which builder gets which."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from vista_guard import ConfigError
from vista_guard.settings.names import Kinds

TOLD = {"shipped": "own", "steps:own": "rules", "steps:CHAT": "chat", "pair:A,B": "both", "PATH": "a folder"}


def told(form: str, name: str, number: int) -> str:
    return f"{form} {name} {number}"


KINDS = Kinds[int, str]("tool", {form: (partial(told, form), said) for form, said in TOLD.items()})


@pytest.mark.parametrize(
    ("name", "form"),
    [("shipped", "shipped"), (" steps:own ", "steps:own"), ("steps:a:b@c", "steps:CHAT"), ("pair:x,y", "pair:A,B")],
)
def test_a_word_wins_over_a_kind(name: str, form: str) -> None:
    assert KINDS.build(name, 3) == f"{form} {name.strip()} 3"


def test_a_folder_is_its_path(tmp_path: Path) -> None:
    assert KINDS.build(str(tmp_path), 0) == f"PATH {tmp_path} 0"


@pytest.mark.parametrize("name", ["", "steps", "steps:", "shipped:x", "own:x", "PATH", "pair", "/nowhere"])
def test_other_names_get_the_list(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        KINDS.build(name, 0)
    assert repr(name) in str(caught.value)
    assert all(form in str(caught.value) and said in str(caught.value) for form, said in TOLD.items())


def test_parts() -> None:
    assert KINDS.parts("pair: a , b:c") == ["a", "b:c"]
    assert KINDS.parts("pair:a,b,c", most=3) == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["pair:a", "pair:a,", "pair:a,b,c", "pair:a,pair:b,c"])
def test_parts_that_cannot_be(name: str) -> None:
    with pytest.raises(ConfigError):
        KINDS.parts(name)
