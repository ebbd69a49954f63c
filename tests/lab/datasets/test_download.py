"""Files of data sets over the network: from an address, and from the hub, both on this machine; and where there is none."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.lab.datasets import rows
from tests.raising import raises
from vista_guard.errors import InputError
from vista_lab.datasets.opening import download
from vista_lab.datasets.registry import DataSet, count_entries, find, open_dataset

TABLE = "".join("\t".join(cells) + "\n" for cells in (rows.BEGIN_HEADER, *rows.BEGIN)).encode()
COMMIT = "a" * 40
FILES = {
    "/begin_dev_wow.tsv": TABLE,
    "/pointer.tsv": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
    "/datasets/McGill-NLP/FaithDial/resolve/main/data/test.json": json.dumps([rows.FAITHDIAL]).encode(),
}


class Publisher(BaseHTTPRequestHandler):
    """Gives out `FILES`, as an ordinary server does and as the hub does."""

    def do_HEAD(self) -> None:
        """The headers that the hub's client asks for first."""
        self._answer(body=False)

    def do_GET(self) -> None:
        """The file."""
        self._answer(body=True)

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def _answer(self, *, body: bool) -> None:
        found = FILES.get(self.path.removesuffix("?broken"))
        self.send_response(404 if found is None else 200)
        content = found or b""
        self.send_header("Content-Length", str(len(content) + 9 * self.path.endswith("?broken")))
        self.send_header("ETag", f'"{len(content)}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if body:
            self.wfile.write(content)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Of a server on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Publisher) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def begin_at(url: str) -> DataSet:
    return replace(find("begin-dev-wow"), origins={"begin_dev_wow.tsv": url})


def test_a_file_is_fetched_once(address: str, tmp_path: Path) -> None:
    dataset, said = begin_at(f"{address}/begin_dev_wow.tsv"), list[str]()
    folder = tmp_path / "new" / "data"
    folder.mkdir(parents=True)
    assert download(dataset, folder, said.append) == [folder / "begin_dev_wow.tsv"]
    assert count_entries(open_dataset(dataset, folder).entries()).conversations == 3
    assert download(dataset, folder, said.append) == []
    assert said == [f"fetching {address}/begin_dev_wow.tsv"]


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("/none.tsv", "the server answered 404 Not Found"),
        ("/pointer.tsv", "the repository returned a Git LFS pointer instead of the file"),
        ("/begin_dev_wow.tsv?broken", r"the connection closed after \d+ of \d+ bytes|IncompleteRead\(.*"),
    ],
)
def test_what_is_no_whole_file_is_not_left_behind(address: str, tmp_path: Path, place: str, why: str) -> None:
    url = f"{address}{place}"
    with pytest.raises(InputError) as raised:
        download(begin_at(url), tmp_path)
    error = str(raised.value)
    assert error.startswith(f"begin_dev_wow.tsv of data set begin-dev-wow could not be fetched from {url} (")
    assert error.endswith(f"{tmp_path}/begin_dev_wow.tsv")
    assert re.search(rf"\({why}\)", error)
    assert list(tmp_path.iterdir()) == []


def test_without_a_network(tmp_path: Path) -> None:
    with raises(InputError, "http://127.0.0.1:9/begin_dev_wow.tsv"):
        download(begin_at("http://127.0.0.1:9/begin_dev_wow.tsv"), tmp_path)


def test_what_only_people_can_get_is_said_before_anything_is_fetched(tmp_path: Path) -> None:
    with raises(
        InputError,
        "ais-wow",
        tmp_path,
        "ann_wow.csv",
        "github.com/google-research-datasets/AIS",
        "wizard_of_wikipedia/test_random_split.json",
        "http://parl.ai/downloads/wizard_of_wikipedia/wizard_of_wikipedia.tgz",
    ):
        download(find("ais-wow"), tmp_path)


@pytest.fixture
def hub(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The hub's client asks our server, and keeps what it gets in a folder of the test."""
    constants = pytest.importorskip("huggingface_hub.constants", reason="huggingface_hub is not installed")
    monkeypatch.setenv("HF_ENDPOINT", address)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return address


def test_a_file_of_the_hub(hub: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (written,) = download(find("faithdial-test"), tmp_path / "data")
    assert written == tmp_path / "data" / "faithdial" / "test.json"
    assert count_entries(open_dataset(find("faithdial-test"), tmp_path / "data").entries()).turns == 2


def test_a_file_that_the_hub_lacks(hub: str, tmp_path: Path) -> None:
    with raises(InputError, "faithdial/valid.json", "faithdial-valid"):
        download(find("faithdial-valid"), tmp_path)
