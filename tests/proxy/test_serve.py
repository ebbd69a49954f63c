"""The server as a process of its own: where it listens, what it logs, how it stops."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import typer
from typer.testing import CliRunner

from vista_guard._extras import how_to_install
from vista_guard.cli.serve import serve
from vista_guard.proxy.security import Keyring, key_hash, new_key
from vista_guard.testing import ScriptedChatServer

ROOT = Path(__file__).parents[2]
COMMAND = "import typer; from vista_guard.cli.serve import serve; app = typer.Typer(); app.command()(serve); app()"
GREETING = re.compile(r"guarding (\S+) on (http://\S+)/v1 \((.*)\)")
SAID = "The pier is 300 metres long. It was built in 1902. It has a small cafe at its end. Entry is free on Mondays."

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(serve)


@dataclass
class Running:
    """A server process."""

    process: subprocess.Popen[str]
    url: str
    about: str
    log: Path

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)


@contextmanager
def serving(tmp_path: Path, *arguments: str, **environment: str) -> Iterator[Running]:
    log = tmp_path / "log"
    stores = {"VISTA_GUARD_STORE": "memory", "VISTA_GUARD_DATA_DIR": str(tmp_path)}
    path = f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    variables = {**os.environ, "PYTHONPATH": path, **stores, **environment}
    command = [sys.executable, "-c", COMMAND, "--port", "0", "--policy", "monitor", *arguments]
    with (
        log.open("a") as file,  # tee appends too
        subprocess.Popen(
            command, cwd=tmp_path, env=variables, stdout=file, stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stderr is not None
        try:
            found = GREETING.search(process.stderr.readline())
            assert found is not None, process.stderr.read()
            # What follows goes where nobody has to read it for the server to go on.
            pump = subprocess.Popen(["tee", "-a", str(log)], stdin=process.stderr, stdout=subprocess.DEVNULL)
            httpx2.get(f"{found[2]}/healthz", timeout=30)
            yield Running(process, found[2], found[3], log)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            pump.wait()


def chat(**more: Any) -> dict[str, Any]:
    return {"model": "any", "messages": [{"role": "user", "content": "How long is the pier?"}], **more}


def invoke(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.stdout, result.stderr


def test_it_serves_logs_no_keys_and_finishes_streams_when_stopped(tmp_path: Path) -> None:
    key = new_key()
    keys = json.dumps({"acme": [key_hash(key)]})
    with (
        ScriptedChatServer(SAID, tokens_per_second=10, key="sk-upstream") as upstream,
        serving(
            tmp_path,
            "--upstream",
            upstream.base_url,
            VISTA_GUARD_PROXY__KEYS=keys,
            VISTA_GUARD_PROXY__UPSTREAM_KEY="sk-upstream",
        ) as server,
    ):
        assert server.about == "gate sentence, policy monitor, judge embedded; tenants with keys: 1"
        assert httpx2.get(f"{server.url}/readyz").json()["status"] == "ready"
        refused = httpx2.post(f"{server.url}/v1/chat/completions?api_key=vg_query", json=chat())
        assert refused.status_code == 401
        headers = {"authorization": f"Bearer {key}", "x-conversation-id": "c1"}
        with httpx2.stream(
            "POST", f"{server.url}/v1/chat/completions", json=chat(stream=True), headers=headers, timeout=60
        ) as stream:
            lines = stream.iter_lines()
            first = next(line for line in lines if "content" in line)
            server.process.send_signal(signal.SIGTERM)
            rest = [line for line in lines if line]
        assert (stream.status_code, rest[-1]) == (200, "data: [DONE]")
        events = [json.loads(line.removeprefix("data: ")) for line in [first, *rest[:-1]]]
        text = "".join(choice["delta"].get("content") or "" for event in events for choice in event.get("choices", ()))
        assert text == SAID
        assert server.process.wait(60) == 128 + signal.SIGTERM
    log = server.log.read_text()
    assert re.search(
        r'^\d{4}-\d\d-\d\dT[\d:]{8}[+-]\d{4} INFO: .*"POST /v1/chat/completions HTTP/1.1" 200', log, re.MULTILINE
    )
    assert not [secret for secret in (key, "sk-upstream", "vg_query", "api_key=", "pier") if secret in log]


def test_ctrl_c_stops_it(tmp_path: Path) -> None:
    with serving(tmp_path, "--upstream", "http://127.0.0.1:9/v1", "--gate", "none") as server:
        assert server.about == "gate none, policy monitor, judge embedded; no keys: anyone who can connect may call"
        assert server.stop(signal.SIGINT) == 130


def test_a_key_is_printed_once_with_what_the_settings_need() -> None:
    code, out, err = invoke("--new-key", "acme")
    key, line = out.splitlines()
    hashed = line.removeprefix('acme = ["').removesuffix('"]')
    assert (code, hashed) == (0, key_hash(key))
    caller = Keyring({"acme": [hashed]}).caller(key.encode())
    assert caller is not None
    assert caller.tenant == "acme"
    assert err.startswith("The first line is the key: give it to acme, it is not shown again.")
    assert key not in err


def test_wrong_usage_is_told_before_anything_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for arguments, error in [
            (("--new-key", "Acme"), "'Acme' cannot be a tenant's name"),
            ((), "setting proxy.upstream is missing; give --upstream URL"),
            (("--upstream", "example.com"), "must look like https://api.example.com/v1"),
            (("--upstream", "http://x", "--host", "0.0.0.0"), "host 0.0.0.0 can be reached from other machines"),
            (
                ("--upstream", "http://x", "--port", port),
                f"cannot listen on 127.0.0.1 port {port}: Address already in use",
            ),
            (("--upstream", "http://x", "--port", "0", "--judge", "oracle"), "judge is 'oracle'"),
            (("--upstream", "http://x", "--port", "0", "--policy", "lax"), "policy is 'lax'"),
            (("--upstream", "http://x", "--gate", "word"), "Invalid value for '--gate'"),
        ]:
            code, out, err = invoke(*arguments)
            assert (code, out) == (2, ""), arguments
            assert error in err


def test_without_the_extra_it_says_how_to_get_it() -> None:
    hidden = (
        "import importlib.machinery as m; find = m.PathFinder.find_spec; m.PathFinder.find_spec = classmethod("
        "lambda cls, name, *more: None if name in ('uvicorn', 'fastapi') else find(name, *more)); "
    )
    done = subprocess.run(
        [sys.executable, "-c", hidden + COMMAND, "--new-key", "acme"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    error = f"error: the proxy needs fastapi, uvicorn: {how_to_install('proxy')}\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", error)
