"""The official `openai` package for Node, where it can be had."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def run_node(script: str, folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs an ES module that may `import "openai"`; skips the test where Node or the package is missing.

    Args:
        script: the module's text.
        folder: an empty one, for the module and its packages.
        arguments: of the module.
        environment: added to this process's own.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node is not installed")
    given = os.environ.get("VISTA_GUARD_NODE_MODULES")
    if given is not None:
        (folder / "node_modules").symlink_to(Path(given).absolute(), target_is_directory=True)
    elif not _install(npm, folder):
        pytest.skip("the package openai cannot be installed: set VISTA_GUARD_NODE_MODULES to a folder that has it")
    module = folder / "script.mjs"
    module.write_text(script, encoding="utf-8")
    variables = {**os.environ, **environment}
    return subprocess.run([node, module, *arguments], env=variables, capture_output=True, text=True, timeout=60)


def _install(npm: str, folder: Path) -> bool:
    command = [npm, "install", "openai@6", "--no-audit", "--no-fund"]
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=120).returncode == 0
