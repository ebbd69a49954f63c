"""schemathesis against the proxy's own OpenAPI description: whatever is sent, no error is the server's."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path

from tests.proxy.serving import TRUTH, proxy
from vista_guard.testing import ScriptedChatServer

PHASES = "examples,coverage,fuzzing"


def test_no_request_makes_an_error_of_ours(tmp_path: Path) -> None:
    with ScriptedChatServer(TRUTH) as upstream, proxy(upstream) as served:
        command = [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{served.url}/openapi.json"),
            *("--checks", "not_a_server_error", "--phases", PHASES, "--max-examples", "25"),
            *("--generation-deterministic", "--no-color", "--continue-on-failure", "--request-timeout", "20"),
        ]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
        # Not only refusals: both APIs were asked through to upstream, streamed and whole, and their answers were judged.
        answered: Counter[tuple[str, bool]] = Counter(
            (request.api, request.stream) for request in upstream.requests if request.status == 200
        )
        assert min(answered[way] for way in product(("chat", "responses"), (False, True))) >= 2, answered
        assert len(served.sink.reports) >= 20
