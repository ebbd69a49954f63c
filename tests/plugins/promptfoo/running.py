"""promptfoo itself, run over a folder of files as a user has them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from vista_guard.integrations.evals import promptfoo as ours

PYTHON = {"type": "python", "value": "file://grounded.py"}
JAVASCRIPT = {"type": "javascript", "value": "file://grounded.mjs"}


def promptfoo(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`promptfoo` with these arguments; skips the test where it is not installed."""
    named = os.environ.get("VISTA_GUARD_PROMPTFOO") or shutil.which("promptfoo")
    if named is None:
        pytest.skip("promptfoo is not installed here: make test-plugins")
    apart = {
        "PROMPTFOO_CONFIG_DIR": str(folder / ".promptfoo"),
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_PYTHON": sys.executable,
    }
    variables = {**os.environ, **apart, **environment}
    return subprocess.run(
        [named, *arguments], cwd=folder, env=variables, capture_output=True, text=True, check=False, timeout=300
    )


def evaluated(folder: Path, config: Mapping[str, Any], *arguments: str, **environment: str) -> dict[str, Any]:
    """What promptfoo writes of a config; in the folder are both assertions."""
    (folder / "grounded.py").write_text(
        "from vista_guard.integrations.evals.promptfoo import get_assert\n", encoding="utf-8"
    )
    ours.main([str(folder / "grounded.mjs")])
    (folder / "promptfooconfig.yaml").write_text(json.dumps(config), encoding="utf-8")
    return written(folder, *arguments, **environment)


def written(folder: Path, *arguments: str, **environment: str) -> dict[str, Any]:
    """What promptfoo writes of the config that is in the folder: `results` in their order, `stats`, `prompts`."""
    ran = promptfoo(folder, "eval", "--no-cache", "--no-table", "--output", "out.json", *arguments, **environment)
    assert (folder / "out.json").is_file(), ran.stdout + ran.stderr
    found: dict[str, Any] = json.loads((folder / "out.json").read_text("utf-8"))["results"]
    found["results"].sort(key=lambda result: (result["testIdx"], result["promptIdx"]))
    return found


def answering(*tests: Mapping[str, Any], assertion: Mapping[str, Any] = JAVASCRIPT) -> dict[str, Any]:
    """A config whose provider says the var `answer`. Tests without assertions of their own have this one."""
    return {
        "prompts": ["{{answer}}"],
        "providers": ["echo"],
        "tests": [{"assert": [assertion], **test} for test in tests],
    }
