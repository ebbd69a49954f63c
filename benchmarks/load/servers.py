"""The model and the proxy, each a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from typing import Any

START_S = 120.0
"""Longest that the proxy may take to start: the models are loaded, on cores that may be busy."""

_GREETING = re.compile(r"guarding \S+ on (http://\S+)/v1")
_TROUBLE = re.compile(r"^(?:WARNING|ERROR|CRITICAL|Traceback)", re.MULTILINE)


@dataclass
class Server:
    """A server process."""

    url: str
    process: subprocess.Popen[str]
    log: Path
    warned: int = 0
    """Lines of trouble that the log had at the start."""

    def usage(self) -> dict[str, float]:
        """Memory in MB, processor time in seconds, threads and open files, at this moment."""
        import psutil  # type: ignore[import-untyped,import-not-found,unused-ignore]  # the bench extra brings it, dev does not

        process = psutil.Process(self.process.pid)
        with process.oneshot():
            times = process.cpu_times()
            return {
                "rss_mb": process.memory_info().rss / 1e6,
                "cpu_s": times.user + times.system,
                "threads": process.num_threads(),
                "files": process.num_fds(),
            }

    def troubles(self) -> list[str]:
        """Warnings and errors in the log since it started."""
        text = self.log.read_text(encoding="utf-8")
        lines = [text[match.start() :].partition("\n")[0] for match in _TROUBLE.finditer(text)]
        return lines[self.warned :]


@contextmanager
def upstream() -> Iterator[Server]:
    """Runs the scripted model."""
    process = _start([sys.executable, "-m", "benchmarks.load.upstream"], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        if not port:
            raise RuntimeError("the scripted upstream did not start")
        yield Server(f"http://127.0.0.1:{port}/v1", process, Path(os.devnull))
    finally:
        _stop(process)


@contextmanager
def proxy(model: Server, folder: Path, *options: str) -> Iterator[Server]:
    """`vista-guard serve` with Chroma and SQLite in `folder`, in front of the model.

    Raises:
        RuntimeError: it did not start.
    """
    log = folder / "log"
    command = [sys.executable, "-m", "vista_guard", "serve", "--upstream", model.url, "--port", "0"]
    with log.open("w") as file:
        process = _start([*command, "--data-dir", str(folder), *options], stdout=file, stderr=file)
    try:
        server = Server(_wait_for_url(process, log), process, log)
        server.warned = len(server.troubles())
        yield server
    finally:
        _stop(process)


def _wait_for_url(process: subprocess.Popen[str], log: Path) -> str:
    import httpx2

    deadline = monotonic() + START_S
    while monotonic() < deadline and process.poll() is None:
        match = _GREETING.search(log.read_text(encoding="utf-8"))
        if match is not None and httpx2.get(f"{match[1]}/healthz", timeout=START_S).is_success:
            return match[1]
        sleep(0.1)
    raise RuntimeError(f"the proxy did not start: {log.read_text(encoding='utf-8')[-2000:]}")


def _start(command: list[str], **streams: Any) -> subprocess.Popen[str]:
    # The caller's own settings would change the measurement.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VISTA_GUARD_")}
    threads = {name: os.environ[name] for name in ("VISTA_GUARD_THREADS",) if name in os.environ}
    return subprocess.Popen(command, env={**environment, **threads}, text=True, **streams)


def _stop(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
