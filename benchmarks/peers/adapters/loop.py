"""The protocol of an adapter: a turn as JSON on a line of standard input, its result as JSON on a line of standard output.

Standard library only: peers run in environments that have nothing of this project.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Turn = Mapping[str, str]
Verdict = Mapping[str, Any]
"""`verdict`: `clean` (nothing to object to), `found` (not clean) or `unknown` (the contender says that it could not judge);
`said`: its result in its own words."""

NO_CALLS_HOME = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "RAGAS_DO_NOT_TRACK": "true",
    "NEMO_GUARDRAILS_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "ANONYMIZED_TELEMETRY": "False",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "OTEL_SDK_DISABLED": "true",
    "HF_HUB_OFFLINE": "1",
    "OPENAI_API_KEY": "nobody-asks",
}
LOOPBACK = ("127.0.0.1", "::1", "localhost", None, "")


def serve(build: Callable[[str, str, float], Callable[[Turn], Awaitable[Verdict]]]) -> None:
    """Judges turns until standard input ends.

    `build(base_url, model, timeout)` makes the judging function; `timeout` is how long it may wait for an answer, in seconds,
    0 for the contender's own default. Arguments of the process: base URL, model, timeout.
    """
    base_url, model, timeout = sys.argv[1:4]
    os.environ.update(NO_CALLS_HOME)
    sys.addaudithook(_stay_on_this_machine)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # Peers print; the line to the benchmark stays clear of it.
    judge = build(base_url, model, float(timeout))

    async def judge_all() -> None:
        _say(answers, {"ready": True})
        while line := await asyncio.to_thread(sys.stdin.readline):
            turn, started = json.loads(line), time.perf_counter()
            try:
                result = dict(await judge(turn))
            except Exception as exc:  # a peer's exceptions are part of the measurement
                result = {"raised": type(exc).__name__, "said": " ".join(str(exc).split())[:300]}
            _say(answers, {**result, "seconds": time.perf_counter() - started})

    asyncio.run(judge_all())


def _stay_on_this_machine(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuses every connection but those to loopback, whatever a peer makes of its settings."""
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in ("socket.connect", "socket.sendto") and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    if (host.decode() if isinstance(host, bytes) else host) not in LOOPBACK:
        print(f"refused a connection to {host}", file=sys.stderr, flush=True)
        raise PermissionError(f"a benchmark stays on this machine; {host} is elsewhere")


def _say(answers: Any, result: Verdict) -> None:
    answers.write(json.dumps(result) + "\n")
    answers.flush()
