"""Metrics of other libraries, where the library is missing. Where it is there: `tests/plugins/*/test_as_system.py`."""

from __future__ import annotations

import pytest

from tests.raising import raises
from vista_guard._extras import how_to_install
from vista_guard.errors import ConfigError
from vista_lab.systems.catalogue import make_system


@pytest.mark.parametrize("library", ["deepeval", "ragas"])
def test_a_library_that_is_not_installed_is_told_with_what_installs_it(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vista_guard._extras.is_installed", lambda name: name != library)
    with raises(ConfigError, library, how_to_install(library)):
        make_system(f"{library}:Faithfulness")
