"""Metrics of other libraries, where the library is missing. Where it is there: `tests/plugins/*/test_as_system.py`."""

from __future__ import annotations

import importlib.util

import pytest

from vista_guard.errors import ConfigError
from vista_guard.evaluation.systems.catalogue import make_system
from vista_guard.evaluation.systems.metrics.loading import INSTALL


@pytest.mark.parametrize("library", INSTALL)
def test_a_library_that_is_not_installed_is_told_with_what_installs_it(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "vista_guard.evaluation.systems.metrics.loading.find_spec",
        lambda name: None if name == library else find(name),
    )
    with pytest.raises(ConfigError) as caught:
        make_system(f"{library}:Faithfulness")
    assert str(caught.value) == f"a {library} metric needs {library}, which is not installed: {INSTALL[library]}"
