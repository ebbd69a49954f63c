from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vista_guard.stores.chroma import folder, worker
from vista_guard.stores.chroma.worker import CallFailure, Engine, EngineCall

ROWS = {"embeddings": [[1.0, 0.0], [0.6, 0.8]], "documents": ["one", "two"], "metadatas": [{"n": 1}, {"n": 2}]}
FIRST = {"include": ["documents", "metadatas", "embeddings"], "where": {"n": 1}}
CALLS: tuple[tuple[str, str | None, dict[str, object]], ...] = (
    (
        "get_or_create_collection",
        None,
        {"name": "the.rows", "metadata": {"a": "b"}, "configuration": {"hnsw": {"space": "cosine"}}},
    ),
    ("add", "the.rows", {"ids": ["x", "y"], **ROWS}),
    ("add", "the.rows", {"ids": ["x", "y"], **ROWS, "documents": ["late", "late"]}),
    ("update", "the.rows", {"ids": ["y"], "metadatas": [{"m": 3}]}),
    ("modify", "the.rows", {"metadata": {"changed": "1"}}),
    ("get_collection", None, {"name": "the.rows"}),
    ("query", "the.rows", {"query_embeddings": [[0.0, 1.0]], "n_results": 2, "include": ["distances"]}),
    ("delete", "the.rows", {"where": {"n": 3}}),
    ("delete", "the.rows", {"ids": ["y"]}),
    ("count", "the.rows", {}),
    ("list_collections", None, {}),
    ("get_collection", None, {"name": "no.rows"}),
    ("add", "the.rows", {"ids": ["z"], "embeddings": [[1.0]], "documents": [""], "metadatas": [{"n": 1}]}),
    ("delete", "the.rows", {}),
)


def _answers(folder: Path) -> list[tuple[object, CallFailure | None]]:
    engine = Engine(folder, telemetry=False)
    answers = [
        engine.answer(EngineCall(number, method, name, dict(arguments)))
        for number, (method, name, arguments) in enumerate(CALLS)
    ]
    engine.close()
    return [(None if answer.fault else _comparable(answer.value), answer.fault) for answer in answers]


def _comparable(value: object) -> object:
    if not isinstance(value, dict):
        return value if value is not True else None
    return {name: value[name] for name in ("ids", "distances", "deleted") if name in value}


def test_the_bare_engine_answers_as_chromas_client_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert folder.can_call(), "the installed Chroma calls its engine in another way: look through `folder`"
    bare = _answers(tmp_path / "bare")
    monkeypatch.setattr(worker, "can_call", lambda: False)
    theirs = [
        (None if method == "delete" else value, fault)
        for (method, *_), (value, fault) in zip(CALLS, _answers(tmp_path / "theirs"), strict=True)
    ]
    assert bare == theirs
    assert [fault for _, fault in bare[-3:]] == [CallFailure.MISSING, CallFailure.REFUSED, CallFailure.REFUSED]


def test_the_bare_engine_and_chromas_client_read_each_others_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = []
    for first, then in ((True, False), (False, True)):
        folder = tmp_path / str(first)
        monkeypatch.setattr(worker, "can_call", lambda bare=first: bare)
        _answers(folder)
        monkeypatch.setattr(worker, "can_call", lambda bare=then: bare)
        engine = Engine(folder, telemetry=False)
        rows = engine.answer(EngineCall(1, "get", "the.rows", dict(FIRST))).value
        about = engine.answer(EngineCall(2, "get_collection", None, {"name": "the.rows"})).value
        engine.close()
        assert isinstance(rows, dict)
        both.append((rows["ids"], rows["documents"], rows["metadatas"], rows["embeddings"].tolist(), about))
    assert both == [(["x"], ["one"], [{"n": 1}], [[1.0, 0.0]], {"changed": "1"})] * 2


@pytest.mark.parametrize("unknown", [{"get": ("rows_of",)}, {"get_all": ()}])
def test_a_chroma_with_another_engine_is_used_through_its_client(
    unknown: dict[str, tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "_CALLED", unknown)
    assert not folder.can_call()


def test_an_engine_loads_none_of_chromas_clients(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from vista_guard.stores.chroma.folder import leave_out_clients
from vista_guard.stores.chroma.worker import Engine, EngineCall
leave_out_clients()
engine = Engine(Path(sys.argv[1]), telemetry=False)
print(engine.answer(EngineCall(1, "get_collection", None, {"name": "none"})).fault)
print(sorted({"chromadb.api", "grpc", "httpx", "numpy", "opentelemetry"} & set(sys.modules)))
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("missing\n[]\n", "")
