"""The base and its extras: the default way needs none, and what needs one says which."""

from __future__ import annotations

import json
import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.blocked import ALL, EXTRAS, ROOT, run_without
from tests.lab.oasis.generated_set import write_set
from vista_guard._extras import how_to_install

MODEL = (
    "from vista_guard.judges.model.chat.calling import Reply\n"
    "class Model:\n"
    "    name, parameters, why_exhausted = 'own', {}, None\n"
)
FAKE_CHAT = (
    "from langchain_core.language_models.fake_chat_models import GenericFakeChatModel\n"
    "from vista_guard.judges.model import LangChainChat\n"
    "LangChainChat(GenericFakeChatModel(messages=iter([])))"
)

NEEDS = {
    "Chroma": (
        "chroma",
        "from vista_guard import Guard; Guard.from_settings(store='chroma', data_dir='kept')",
        "the store at kept/chroma needs chromadb",
    ),
    "Chroma's server": (
        "chroma-client",
        "from vista_guard import Guard; Guard.from_settings(chroma_url='http://127.0.0.1:9')",
        "the store at http://127.0.0.1:9 needs chromadb",
    ),
    "what Chroma kept": (
        "chroma",
        "from pathlib import Path; Path('kept/chroma').mkdir(parents=True); Path('kept/chroma/chroma.sqlite3').touch()\n"
        "from vista_guard import Guard; Guard.from_settings(data_dir='kept')",
        "the store at kept/chroma needs chromadb",
    ),
    "openai: judge": (
        "model",
        "from vista_guard import Guard; Guard.from_settings(judge='openai:m@http://127.0.0.1:9/v1', store='memory')",
        "a judge that asks an OpenAI-compatible endpoint needs openai, aiolimiter, genai_prices, purgatory",
    ),
    "langchain: judge": ("model", FAKE_CHAT, "a judge that asks a LangChain chat model needs aiolimiter, "),
    "judge of one's own model": (
        "model",
        f"{MODEL}from vista_guard.judges.model import ModelJudge; ModelJudge(Model())",
        "a judge that asks a model needs json_repair",
    ),
    "cache": (
        "model",
        "from vista_guard.judges.composed.stored import StoredJudge\n"
        "from vista_guard.testing import ScriptedJudge; StoredJudge.cached(ScriptedJudge({}), 'cache')",
        "the judge's cache needs diskcache",
    ),
    "guarded": (
        "openai",
        "from vista_guard.integrations.openai import guarded",
        "the guarded OpenAI client needs openai 2.45 to 3.x (No module named 'openai')",
    ),
    "middleware": (
        "langchain",
        "from vista_guard.integrations.langchain import VistaGuardMiddleware",
        "the LangChain middleware needs langchain 1.x (No module named 'langchain')",
    ),
    "langchain: judge by name": (
        "langchain",
        "from vista_guard.judges.model import LangChainChat; LangChainChat.from_name('anthropic:claude')",
        "langchain:anthropic:claude needs langchain",
    ),
    "reports": (
        "reports",
        "from vista_guard import Guard; Guard.from_settings(store='memory', reports='sqlite')",
        "keeping reports needs sqlalchemy",
    ),
    "reports in Postgres": (
        "postgres",
        "from vista_guard import Guard; Guard.from_settings(store='memory', reports='postgresql+psycopg://user@host/db')",
        "reports need the database driver psycopg",
    ),
    "guardrail of LiteLLM": (
        "litellm",
        "from vista_guard.integrations.litellm import VistaGuardrail",
        "the LiteLLM guardrail needs litellm 1.x (No module named 'litellm')",
    ),
    "store in Postgres": (
        "pgvector",
        "from vista_guard import Guard; Guard.from_settings(store='pgvector', store_url='postgresql://user@host/db')",
        "a store in Postgres needs psycopg, psycopg_pool",
    ),
    "store in Qdrant": (
        "qdrant",
        "from vista_guard import Guard; Guard.from_settings(store='qdrant')",
        "a store in Qdrant needs qdrant_client",
    ),
    "metric of DeepEval": (
        "deepeval",
        "from vista_guard.integrations.evals.deepeval import VistaMetric",
        "the DeepEval metric needs deepeval 4.x (No module named 'deepeval')",
    ),
    "scorer of Inspect": (
        "inspect",
        "from vista_guard.integrations.evals.inspect_ai import vista",
        "the Inspect scorer needs inspect_ai 0.3.x (No module named 'inspect_ai')",
    ),
    "evaluator of Pydantic Evals": (
        "pydantic-evals",
        "from vista_guard.integrations.evals.pydantic_evals import VistaEvaluator",
        "the Pydantic Evals evaluator needs pydantic_evals 2.x (No module named 'pydantic_evals')",
    ),
    "metric of Ragas": (
        "ragas",
        "from vista_guard.integrations.evals.ragas import VistaMetric",
        "the Ragas metric needs ragas 0.4.x with langchain-community below 0.4.2 (No module named 'ragas')",
    ),
    "figures": (
        "evaluation",
        "from vista_lab.tables.plots import open_figure\nwith open_figure(1, 1):\n    pass",
        "drawing figures needs matplotlib",
    ),
    "sheets for annotators": (
        "evaluation",
        "from vista_lab.annotate.sheets import Table, content\ncontent(Table('t', ['id'], [['a']]), '.xlsx')",
        "a sheet in .xlsx (--sheets tsv writes one without) needs openpyxl",
    ),
    "page to send around": (
        "evaluation",
        "from pathlib import Path\nfrom vista_lab.policies.html import check_place\ncheck_place(Path('page.html'))",
        "the HTML report needs jinja2",
    ),
    "log in Parquet": (
        "parquet",
        "from pathlib import Path\nfrom vista_lab.logs.formats import detect\n"
        "Path('runs').write_bytes(b'PAR1')\ndetect(Path('runs'))",
        "reading the Parquet log runs needs pyarrow",
    ),
    "data set of the hub": (
        "hub",
        "from pathlib import Path\nfrom vista_lab.datasets.opening import download\n"
        "from vista_lab.datasets.registry import find\n"
        "download(find('faithdial-test'), Path('data'))",
        "downloading a data set from the Hugging Face hub needs huggingface_hub",
    ),
    "overlap of n-grams": (
        "ngrams",
        "from vista_lab.dialogues.tables.papers import overlaps; overlaps('an answer', 'a reference')",
        "Table 13 needs sacrebleu, rouge_score",
    ),
    "verifier of the hub": (
        "verifiers",
        "from vista_guard import Guard; Guard.from_settings(store='memory', verifier='hf:someone/nli')",
        "verifier hf:someone/nli needs huggingface_hub",
    ),
    "embedder of the hub": (
        "verifiers",
        "from vista_guard import Guard; Guard.from_settings(store='memory', embedder='hf:someone/e5')",
        "embedder hf:someone/e5 needs huggingface_hub",
    ),
    "decomposer of the hub": (
        "verifiers",
        "from vista_guard import Guard; Guard.from_settings(store='memory', decomposer='hf:someone/t5')",
        "decomposer hf:someone/t5 needs huggingface_hub",
    ),
    "verifier with weights for torch": (
        "torch",
        "import json\nfrom pathlib import Path\nfrom tokenizers import Tokenizer, models\n"
        "Path('nli').mkdir()\nnames = {0: 'entailment', 1: 'neutral'}\n"
        "Path('nli/config.json').write_text(json.dumps({'id2label': names}))\n"
        "Tokenizer(models.WordLevel({'a': 0}, 'a')).save('nli/tokenizer.json')\n"
        "from vista_guard import Guard; Guard.from_settings(store='memory', verifier='nli')",
        "verifier nli has weights for torch only, and to run them it needs torch, transformers",
    ),
    "verifier with an old tokenizer": (
        "torch",
        "from pathlib import Path\nfrom vista_guard.inference.local_models import ModelFolder\n"
        "from vista_guard.inference.local_models import ModelTokens; ModelTokens(ModelFolder(Path('.'), 'old', {}))",
        "verifier old has no tokenizer.json, and to make one of its older files it needs transformers, sentencepiece",
    ),
    "training": (
        "train",
        "from vista_lab.oasis.training.train import require_libraries; require_libraries()",
        "training a model of your own needs ",
    ),
    "training a decomposer": (
        "rl",
        "from vista_lab.decompose.training.train import require_libraries; require_libraries()",
        "training a decomposer needs ",
    ),
    "sending traces": (
        "otel",
        "import os; os.environ['OTEL_EXPORTER_OTLP_ENDPOINT'] = 'http://127.0.0.1:9'\n"
        "from vista_guard.telemetry.sdk import configured; configured('own').__enter__()",
        "sending traces (OTEL_EXPORTER_OTLP_ENDPOINT is set) needs opentelemetry.exporter.otlp.proto.http",
    ),
    "runs on a cluster": (
        "ray",
        "import asyncio; from vista_lab.runs.cluster import RaySystem\nasyncio.run(RaySystem.start(print))",
        "--engine ray needs ray: pip install",
    ),
    "scripted server": (
        "testing",
        "from vista_guard.testing import ScriptedChatServer; ScriptedChatServer(['Hello.']).__enter__()",
        "ScriptedChatServer needs openai, starlette",
    ),
}
"""Where an extra is missing: which, what is done, and the beginning of what is said."""


@pytest.mark.parametrize(("extra", "code", "said"), NEEDS.values(), ids=NEEDS)
def test_what_needs_an_extra_names_it(extra: str, code: str, said: str, tmp_path: Path) -> None:
    script = f"from vista_guard import ConfigError\ntry:\n{_indented(code)}\nexcept ConfigError as exc:\n    print(exc)"
    done = run_without(EXTRAS[extra], ["-c", script], tmp_path)
    assert done.stderr == ""
    assert done.stdout.startswith(said)
    assert how_to_install(extra) in done.stdout or re.search(rf": pip install .*\[(\w+,)+{extra}\]'", done.stdout)


COMMANDS = {
    "proxy": (
        ["serve", "--upstream", "http://127.0.0.1:9/v1"],
        "the proxy needs fastapi, prometheus_client, sqlalchemy",
    ),
    "dashboard": (["dashboard"], "the dashboard needs streamlit"),
    "oasis": (
        ["oasis", "generate", ".", "--out", "ours"],
        "making pairs without a model needs lemminflect, num2words, textblob",
    ),
    "model": (
        ["check", "It opened.", "--judge", "openai:m@http://127.0.0.1:9/v1"],
        "a judge that asks an OpenAI-compatible endpoint needs openai, aiolimiter, genai_prices, purgatory",
    ),
}


@pytest.mark.parametrize(
    ("extra", "command", "said"), [(extra, *rest) for extra, rest in COMMANDS.items()], ids=COMMANDS
)
def test_a_command_that_needs_an_extra_says_so_in_one_line(
    extra: str, command: list[str], said: str, tmp_path: Path
) -> None:
    libraries = [library for library in EXTRAS[extra] if library != "httpx2"]
    done = run_without(libraries, ["-m", "vista_guard", *command], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {said}: {how_to_install(extra)}\n"


def test_sheets_of_a_generated_set_need_no_database(tmp_path: Path) -> None:
    """`oasis sheets` and `oasis agree` run with the extra that their pages name."""
    write_set(tmp_path / "ours", 4)
    libraries = [library for library in ALL if library not in (*EXTRAS["oasis"], *EXTRAS["evaluation"], "httpx2")]
    names = ["ours", "--annotators", "ada,ben", "--part", "all", "--shared", "1"]
    for kind in ("tsv", "xlsx"):
        more = ["--sheets", kind, "--out", kind]
        done = run_without(libraries, ["-m", "vista_guard", "oasis", "sheets", *names, *more], tmp_path)
        assert (done.returncode, (tmp_path / kind / "extraction" / f"ada.{kind}").is_file()) == (0, True), done.stderr
    done = run_without(libraries, ["-m", "vista_guard", "oasis", "agree", "ours", "--sheets", "tsv"], tmp_path)
    assert "every sheet in tsv is empty" in done.stderr


WAYS = """
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from vista_guard import Document, Guard, to_conversation
from vista_guard.integrations.langgraph import guard_node

note = Document(id="hall", text="The whale hall opened in 1925.")
asked = [{"role": "user", "content": "When did it open?"}]

def checked(text):
    answer = {"role": "assistant", "content": text, "documents": [note.text]}
    return guard.check(to_conversation([*asked, answer])).decision.action

def answer(state):
    return {"messages": [AIMessage("The whale hall opened in 1925.")]}

guard = Guard.from_settings(policy="balanced")
print(checked("The whale hall opened in 1925."), checked("The whale hall opened in 1874."))
for node, hold in ((answer, lambda graph: guard.wrap(graph, documents=lambda *_: [note])),
                   (guard_node(guard, answer, documents=lambda *_: [note]), lambda graph: graph)):
    graph = StateGraph(MessagesState)
    graph.add_node("answer", node)
    graph.add_edge(START, "answer")
    print(hold(graph.compile()).invoke({"messages": asked})["messages"][-1].content)
guard.close()
"""


def test_the_default_way_needs_no_extra(tmp_path: Path) -> None:
    done = run_without(ALL, ["-c", WAYS], tmp_path)
    assert done.stdout.splitlines() == ["ALLOW BLOCK", *["The whale hall opened in 1925."] * 2]
    (warned,) = done.stderr.splitlines()
    assert warned.startswith("Chroma is not installed: ")
    assert how_to_install("chroma") in warned
    assert not (tmp_path / "data").exists()


def test_memory_that_was_asked_for_is_no_surprise(tmp_path: Path) -> None:
    done = run_without(ALL, ["-c", WAYS], tmp_path, VISTA_GUARD_STORE="memory")
    assert (done.stderr, done.stdout.splitlines()[0]) == ("", "ALLOW BLOCK")


def test_the_default_way_keeps_knowledge_in_chroma(tmp_path: Path) -> None:
    done = run_without((), ["-c", WAYS], tmp_path)
    assert (done.stderr, (tmp_path / "data" / "chroma").is_dir()) == ("", True)


def test_chromas_client_keeps_nothing_in_a_folder(tmp_path: Path) -> None:
    """`chromadb-client` is imported as `chromadb`, and lacks the engine."""
    opened = "from vista_guard.stores.chroma.client import chroma_client; chroma_client('kept')"
    done = run_without(["chromadb_rust_bindings"], ["-c", opened], tmp_path)
    assert "the store at kept needs chromadb (chromadb-client only talks to servers)" in done.stderr
    serve = "from vista_guard.cli.serve import build_guard; build_guard({}, data_dir=None).close()"
    done = run_without(["chromadb_rust_bindings"], ["-c", serve], tmp_path)
    assert "ConfigError: keeping what conversations establish (or set store = " in done.stderr
    done = run_without(["chromadb_rust_bindings"], ["-c", WAYS], tmp_path)
    assert (done.stdout.splitlines()[0], how_to_install("chroma") in done.stderr) == ("ALLOW BLOCK", True)


def test_a_server_forgets_only_where_it_is_told_to(tmp_path: Path) -> None:
    serve = "from vista_guard.cli.serve import build_guard; build_guard({}, data_dir=None).close()"
    done = run_without(["chromadb"], ["-c", serve], tmp_path)
    assert "ConfigError: keeping what conversations establish (or set store = " in done.stderr
    done = run_without(["chromadb"], ["-c", serve], tmp_path, VISTA_GUARD_STORE="memory")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_default_way_loads_no_extra(tmp_path: Path) -> None:
    """Where they are installed: an import that is tolerated when it fails would cost time and memory."""
    told = f"import sys; print(sorted(set({ALL!r}) & sys.modules.keys()))"
    done = run_without((), ["-c", f"{WAYS}\n{told}"], tmp_path)
    assert (done.stderr, done.stdout.splitlines()[-1]) == ("", "[]")


def test_the_commands_need_no_extra(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "When?"}, {"role": "assistant", "content": "The hall opened in 1925."}]
    (tmp_path / "log.jsonl").write_text(json.dumps({"messages": talk}) + "\n", encoding="utf-8")
    for command in (
        ["check", "The hall opened in 1925."],
        ["replay", "log.jsonl", "--out", "reports.jsonl"],
        ["eval", "log.jsonl", "--out", "run"],
        ["compare", "run"],
        ["demo"],
    ):
        done = run_without(ALL, ["-m", "vista_guard", *command], tmp_path)
        assert (command, done.returncode, "Traceback" in done.stderr) == (command, 0, False), done.stderr


def test_storing_documents_needs_chroma_alone(tmp_path: Path) -> None:
    (tmp_path / "hall.md").write_text("# Hall\n\nThe hall opened in 1925.\n", encoding="utf-8")
    (tmp_path / "hall.html").write_text("<h1>Hall</h1><p>The hall is free.", encoding="utf-8")
    (tmp_path / "hall.txt").write_text("The hall has two doors.", encoding="utf-8")
    add = ["-m", "vista_guard", "documents", "add", "hall.md", "hall.html", "hall.txt"]
    without = run_without(ALL, add, tmp_path)
    assert (without.returncode, how_to_install("chroma") in without.stderr) == (2, True)
    done = run_without([library for library in ALL if library != "chromadb"], add, tmp_path)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


def test_every_extra_is_tried_here() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    # Without `search` a large store is searched by its index, and nothing fails; tests/cli/test_documents.py tries `documents`.
    silent = {"search", "documents"}
    tried = {extra for extra, *_ in NEEDS.values()} | set(COMMANDS) | silent
    assert set(declared) - {"dev", "bench", "docs"} == tried == set(EXTRAS)


def test_the_base_has_none_of_them() -> None:
    """What is blocked here is declared by its extra, and not by the base."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    base, names = _named(project["dependencies"]), packages_distributions()
    for extra, libraries in EXTRAS.items():
        if extra == "chroma-client":  # imported by the name of another package, chromadb
            continue
        # torch is not among what tests install: what is not there is named as it is imported.
        blocked = {_plain(names.get(library, [library])[0]) for library in libraries}
        assert blocked <= _brought(extra, project["optional-dependencies"])
        assert not blocked & base


def _brought(extra: str, extras: dict[str, list[str]]) -> set[str]:
    """What an extra asks for, by itself and by the extras that are part of it."""
    parts = re.findall(r"vista-guard\[(\w+)\]", " ".join(extras[extra]))
    return _named(extras[extra]).union(*(_brought(part, extras) for part in parts))


def _named(requirements: list[str]) -> set[str]:
    """The names of what is required."""
    return {_plain(re.split(r"[\[<>=]", requirement)[0]) for requirement in requirements}


def _plain(name: str) -> str:
    return re.sub(r"[._]", "-", name.lower())


def _indented(code: str) -> str:
    return "\n".join(f"    {line}" for line in code.splitlines())
