"""A process in which libraries are missing, as they are in an environment that never installed them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]

EXTRAS = {
    "chroma": ("chromadb",),
    "chroma-client": ("chromadb",),
    "oasis": ("lemminflect", "num2words", "textblob"),
    "dashboard": ("streamlit",),
    "deepeval": ("deepeval",),
    "documents": ("defusedxml", "docx", "openpyxl", "pptx", "pypdf"),
    "evaluation": ("jinja2", "matplotlib", "openpyxl", "scipy", "sklearn"),
    "hub": ("huggingface_hub",),
    "inspect": ("inspect_ai",),
    "langchain": ("langchain",),
    "litellm": ("litellm",),
    "ngrams": ("rouge_score", "sacrebleu"),
    "model": ("aiolimiter", "diskcache", "genai_prices", "json_repair", "openai", "purgatory"),
    "openai": ("openai",),
    "otel": ("opentelemetry.exporter.otlp.proto.http",),
    "parquet": ("pyarrow",),
    "pgvector": ("psycopg", "psycopg_pool"),
    "postgres": ("psycopg",),
    "proxy": ("fastapi", "httpx2", "prometheus_client", "sqlalchemy"),
    "pydantic-evals": ("pydantic_evals",),
    "qdrant": ("qdrant_client",),
    "ragas": ("ragas",),
    "ray": ("ray",),
    "reports": ("sqlalchemy",),
    "rl": ("bitsandbytes", "datasets", "peft", "trl"),
    "search": ("faiss",),
    "testing": ("openai", "starlette"),
    "torch": ("safetensors", "sentencepiece", "torch", "transformers"),
    "train": ("accelerate", "datasets", "onnx", "sentence_transformers"),
    "verifiers": ("huggingface_hub",),
}
"""What each extra brings, and the base does not have, by the names under which it is imported."""

ALL = tuple(sorted({library for libraries in EXTRAS.values() for library in libraries} - {"httpx2"}))
"""Everything that the base does not have. The base may have httpx2, which other libraries bring along."""

_SITE = """
import importlib.machinery, os
_blocked = set(os.environ["BLOCKED"].split(","))
_found = importlib.machinery.PathFinder.find_spec
def _find(cls, name, *more):
    parts = name.split(".")
    return None if any(".".join(parts[:n]) in _blocked for n in range(1, len(parts) + 1)) else _found(name, *more)
importlib.machinery.PathFinder.find_spec = classmethod(_find)
"""


def run_without(
    libraries: Sequence[str], command: Sequence[str], folder: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """What `python COMMAND` did where the libraries cannot be found, and in no process that it starts.

    Args:
        libraries: by the names under which they are imported.
        command: arguments of the interpreter.
        folder: an empty one; also the data folder and the one in which it runs.
        environment: added to this process's own.
    """
    hook = folder / "hook"
    hook.mkdir(exist_ok=True)
    (hook / "sitecustomize.py").write_text(_SITE, encoding="utf-8")
    own = {"BLOCKED": ",".join(libraries), "VISTA_GUARD_DATA_DIR": str(folder / "data")}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(hook), str(ROOT))), **own, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
