"""The example for Guardrails AI, in its real library and an environment of its own, asks a real proxy."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.serving import ASIDE, LIE, NOTES, TRUTH, proxy
from vista_guard.policy.label_policy import MESSAGE

PYTHON = os.environ.get("VISTA_GUARD_GUARDRAILS_AI")
EXAMPLE = Path(__file__).parents[3] / "examples/guardrails_validator.py"
pytestmark = pytest.mark.skipif(PYTHON is None, reason="guardrails-ai is not installed here: make test-plugins")

SCRIPT = """
import json, runpy, sys
from guardrails import Guard
example, truth, lie, aside, notes = sys.argv[1:]
Grounded = runpy.run_path(example)["Grounded"]
metadata = {"documents": [notes], "messages": [{"role": "user", "content": "When did the hall open?"}]}

def told(do):
    try:
        return do()
    except Exception as error:
        return type(error).__name__

def check(text, on_fail, metadata=metadata):
    outcome = Guard().use(Grounded(on_fail=on_fail)).validate(text, metadata=metadata)
    spans = [[span.start, span.end] for one in outcome.validation_summaries or () for span in one.error_spans or ()]
    return [outcome.validation_passed, outcome.validated_output, spans]

def stream(text):
    def model(*, messages, **options):
        yield from text.split(" ")[:1]
        yield from (f" {word}" for word in text.split(" ")[1:])

    guard = Guard().use(Grounded(on_fail="fix"))
    parts = guard(model, messages=metadata["messages"], metadata=metadata, stream=True)
    return "".join(part.validated_output or "" for part in parts)

print(json.dumps({
    "good": told(lambda: check(truth, "exception")),
    "fixed": told(lambda: check(lie, "fix")),
    "raised": told(lambda: check(lie, "exception")),
    "flagged": told(lambda: check(aside, "exception")),
    "unread": told(lambda: check(truth, "fix", {"documents": "no list"})),
    "good stream": told(lambda: stream(truth)),
    "fixed stream": told(lambda: stream(lie)),
}))
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with proxy("http://127.0.0.1:9/v1") as served:
        yield served.url


def run(url: str, folder: Path, *arguments: str) -> str:
    """The output of Guardrails AI's own Python."""
    environment = {**os.environ, "VISTA_GUARD_URL": url, "OTEL_SDK_DISABLED": "true", "HOME": str(folder)}
    environment.pop("PYTHONPATH", None)
    command = [str(PYTHON), *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_answers_pass_fail_or_are_fixed(url: str, tmp_path: Path) -> None:
    told: dict[str, Any] = json.loads(
        run(url, tmp_path, "-c", SCRIPT, str(EXAMPLE), TRUTH, LIE, ASIDE, NOTES).splitlines()[-1]
    )
    assert told == {
        "good": [True, TRUTH, []],
        "fixed": [True, MESSAGE, [[0, len(LIE)]]],
        "raised": "ValidationError",
        "flagged": [True, ASIDE, []],
        "unread": "HTTPError",
        "good stream": TRUTH,
        "fixed stream": MESSAGE,
    }


def test_it_runs_as_it_stands(url: str, tmp_path: Path) -> None:
    lines = run(url, tmp_path, str(EXAMPLE)).splitlines()
    assert lines[0] == TRUTH
