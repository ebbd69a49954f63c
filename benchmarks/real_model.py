"""`python -m benchmarks.real_model`: what a real language model does as judge, decomposer, generator and assistant.

    python -m benchmarks.real_model --out build/real/NAME --model NAME --url http://127.0.0.1:8080/v1
    python -m benchmarks.real_model --out build/real/NAME --gguf FILE

The second starts llama.cpp's server on a GGUF file (`pip install xllamacpp`). Four parts, `--part` chooses:

- turns: answers of `training.suites.known`, half of them right, under each strategy of a model judge and in a cascade;
- decompositions: right answers taken apart by `steps:MODEL`;
- passages: texts made of `examples/oasis` by `vista-guard oasis generate`;
- dialogues: the questions of `examples/dialogues`, alone and turn by turn, as `vista-guard knowmt` asks them.

Each answer is kept in the folder as it comes: the same command goes on where it stopped. At the end, and with `--report`
alone, it prints the figures as Markdown. A turn takes minutes on two cores: `--turns`, `--texts`, `--questions` ask less.
Read the answers of a `--first-look` before you change a prompt: they are in no other run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from statistics import median
from time import monotonic, sleep
from typing import Any
from urllib.request import urlopen

from benchmarks.measure import machine
from training.comparison.sets import spaced
from training.suites.known import KnownCase, passes, read_cases
from vista_guard import Guard
from vista_guard.types import TurnReport, Unchecked
from vista_lab.metrics.intervals import Share

PARTS = ("turns", "decompositions", "passages", "dialogues")
SETUPS = ("per_claim", "batched", "fused", "cascade")
ROOT = Path(__file__).parents[1]
THIRD = 3
"""One pair in so many is for reading and mending, and in no figure."""
_PORT = 8391
_SERVE = """
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.hostnames, params.port = sys.argv[1], ["127.0.0.1"], int(sys.argv[2])
params.n_ctx, params.n_parallel = 8192, 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(sys.argv[3])
server = xllamacpp.Server(params)
while True:
    time.sleep(60)
"""
_PATIENCE_S = 3600.0
_SLOW = {"timeout_s": _PATIENCE_S, "concurrency": 1, "max_retries": 0}
"""Options of a model on a processor: it answers one question at a time, in minutes."""


def _is_ready(url: str) -> bool:
    """True once the model is loaded: until then the server answers with 503."""
    try:
        with urlopen(url, timeout=5) as answer:
            return bool(answer.status == HTTPStatus.OK)
    except OSError:
        return False


@contextmanager
def served(gguf: Path, threads: int) -> Iterator[str]:
    """The URL of llama.cpp's server on a model's file, for as long as the block lasts."""
    with subprocess.Popen([sys.executable, "-c", _SERVE, str(gguf), str(_PORT), str(threads)]) as server:
        try:
            while True:
                if server.poll() is not None:
                    raise SystemExit(f"the server for {gguf} ended; is xllamacpp installed? pip install xllamacpp")
                if _is_ready(f"http://127.0.0.1:{_PORT}/health"):
                    break
                sleep(1)
            yield f"http://127.0.0.1:{_PORT}/v1"
        finally:
            server.kill()


class Kept:
    """The answers of a part, a JSON object a line in a file; those that are there are not asked for again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows: list[dict[str, Any]] = (
            [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
        )

    def has(self, **key: object) -> bool:
        """True if a row has these fields."""
        return any(key.items() <= row.items() for row in self.rows)

    def add(self, row: dict[str, Any]) -> None:
        """Writes a row."""
        self.rows.append(row)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def chosen_cases(most: int, *, first_look: bool = False) -> list[KnownCase]:
    """Evenly spaced pairs of a right and a wrong answer: of every third pair for a first look, else of the others."""
    cases = list(read_cases())
    pairs = [
        pair
        for number, pair in enumerate(zip(cases[::2], cases[1::2], strict=True))
        if (number % THIRD == 0) == first_look
    ]
    return [case for pair in spaced(pairs, most // 2) for case in pair]


def guard_of(setup: str, model: str) -> Guard:
    """The guard of a setup, which judges and changes nothing."""
    judge = f"cascade:embedded,{model}" if setup == "cascade" else model
    options = _SLOW | ({} if setup == "cascade" else {"strategy": setup})
    return Guard.from_settings(judge=judge, policy="monitor", model=options, limits={"judge_seconds": _PATIENCE_S})


def judged(report: TurnReport, seconds: float) -> dict[str, Any]:
    """The fields of a judged turn that are kept."""
    return {
        "passes": passes(report, labels=True),
        "claims": [[one.claim.text, one.label.value] for one in report.findings],
        "unchecked": [one.error for one in report.outcomes if isinstance(one, Unchecked)],
        "calls": report.usage.calls,
        "input": report.usage.input_tokens,
        "cached": report.usage.cached_tokens,
        "output": report.usage.output_tokens,
        "seconds": round(seconds, 2),
    }


async def ask(guard: Guard, case: KnownCase) -> dict[str, Any]:
    """A case, judged."""
    began = monotonic()
    report = await guard.acheck_answer(case.answer, documents=case.documents, question=case.question)
    return judged(report, monotonic() - began)


async def turns(model: str, kept: Kept, cases: Sequence[KnownCase], setups: Sequence[str] = SETUPS) -> None:
    """Every setup's verdicts on the same answers: answer by answer, so that a run that stops has the same ones of each."""
    guards = {setup: guard_of(setup, model) for setup in setups}
    for number, case in enumerate(cases):
        for setup, guard in guards.items():
            if not kept.has(setup=setup, number=number):
                kept.add({"setup": setup, "number": number, "right": case.right, **await ask(guard, case)})
    for guard in guards.values():
        await guard.aclose()


async def decompositions(model: str, kept: Kept, most: int) -> None:
    """The longest right answers, taken apart by the model and judged by the embedded judge."""
    own = Guard.from_settings(judge="embedded", policy="monitor")
    limits = {"judge_seconds": _PATIENCE_S}
    guard = Guard.from_settings(
        judge="embedded", policy="monitor", decomposer=f"steps:{model}", model=_SLOW, limits=limits
    )
    right = sorted((case for case in read_cases() if case.right == "pass"), key=lambda case: -len(case.answer))
    for number, case in enumerate(right[:most]):
        if not kept.has(number=number):
            usual = await ask(own, case)
            by_rule = {"usual": len(usual["claims"]), "usual_passes": usual["passes"]}
            kept.add({"number": number, **by_rule, **await ask(guard, case)})
    await guard.aclose()


def command(*words: str) -> str:
    """Runs a command of ours, and returns what it prints."""
    patient = {**os.environ, "VISTA_GUARD_MODEL": json.dumps(_SLOW)}
    done = subprocess.run(
        [sys.executable, "-m", "vista_guard", *words], stdout=subprocess.PIPE, text=True, cwd=ROOT, env=patient
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"vista-guard {' '.join(words)} ended with {done.returncode}")
    return done.stdout


def passages(model: str, out: Path, most: int) -> None:
    """Factual and unfactual texts of our example documents."""
    command(
        *("oasis", "generate", "examples/oasis", "--out", str(out / "oasis"), "--model", model),
        *("--per-document", "0", "--limit", str(most), "--at-once", "1"),
    )


def dialogues(model: str, out: Path, most: int) -> None:
    """Two consultations a question, alone and at the end of a dialogue; judged by the shipped verifier."""
    questions, run = out / "questions.jsonl", str(out / "knowmt")
    lines = (ROOT / "examples/dialogues/questions.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    questions.write_text("".join(lines[:most]), encoding="utf-8")
    settings = ("--setting", "single", "--setting", "multi")
    command("knowmt", "run", str(questions), "--model", model, *settings, "--out", run)
    command("knowmt", "judge", run)


def kind_of(error: str) -> str:
    """The kind of an unread answer: its message without names, quotes and figures."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|“[^”]*”|openai:\S+|\d[\d.,]*", "…", error.split(";")[0].split(" (")[0])[:90]


def verdict(row: Mapping[str, Any]) -> str:
    """`stop` if a claim that was judged is not safe, else `unread` if one was not judged, else `pass`."""
    return "stop" if not row["passes"] else "unread" if row["unchecked"] else "pass"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """A Markdown table."""
    yield "| " + " | ".join(head) + " |"
    yield "|---" + "|---:" * (len(head) - 1) + "|"
    yield from ("| " + " | ".join(map(str, row)) + " |" for row in rows)


def costs(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Calls, tokens in and out, and seconds of a turn: medians."""
    return [f"{median(row[name] for row in rows):.0f}" for name in ("calls", "input", "output", "seconds")]


def report(out: Path) -> Iterator[str]:
    """The figures that are there, as Markdown."""
    found = Kept(out / "turns.jsonl").rows
    by_setup = {setup: [row for row in found if row["setup"] == setup] for setup in SETUPS}
    head = ("judge", "turns", "right ones pass", "wrong ones stopped", "unread", *_COSTS)
    lines = []
    for setup, rows in by_setup.items():
        if rows:
            right, wrong = ([verdict(row) for row in rows if row["right"] == side] for side in ("pass", "stop"))
            shares = (
                Share.of(one == "pass" for one in right),
                Share.of(one == "stop" for one in wrong),
                Share.of(one == "unread" for one in right + wrong),
            )
            lines.append((setup, len(rows), *shares, *costs(rows)))
    yield from table(head, lines)
    kinds = Counter((row["setup"], kind_of(error)) for row in found for error in row["unchecked"])
    if kinds:
        yield ""
        yield from table(
            ("unread", "judge", "claims"), ((kind, setup, n) for (setup, kind), n in kinds.most_common(12))
        )
    taken = Kept(out / "decompositions.jsonl").rows
    if taken:
        yield ""
        claims = [len(row["claims"]) + len(row["unchecked"]) for row in taken]
        head = ("right answers taken apart", "answers", "claims", "they pass", "unread claims", *_COSTS)
        usual = (sum(row["usual"] for row in taken), Share.of(row["usual_passes"] for row in taken), 0)
        passed = Share.of(verdict(row) == "pass" for row in taken)
        steps = (sum(claims), passed, sum(len(row["unchecked"]) for row in taken), *costs(taken))
        yield from table(head, [("by rule", len(taken), *usual, *"0000"), ("by the model", len(taken), *steps)])
    if (out / "oasis/records.jsonl").exists():
        records = Kept(out / "oasis/records.jsonl").rows
        states = Counter(record["state"] for record in records)
        yield ""
        yield from table(("passages", *states), [(len(records), *states.values())])
    if (out / "knowmt").is_dir():
        yield ""
        first, _, _ = command("knowmt", "report", str(out / "knowmt")).partition("\n### Tables")
        yield first


_COSTS = ("calls", "tokens read", "tokens written", "seconds")


def main() -> None:
    """Parses the arguments, asks what was not asked yet, and prints the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.real_model",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="what was asked, and goes on")
    parser.add_argument("--model", help="name of the model at --url; without one, the name of the GGUF file")
    parser.add_argument("--url", help="an endpoint that speaks OpenAI's protocol; its key is OPENAI_API_KEY")
    parser.add_argument("--gguf", type=Path, metavar="FILE", help="start llama.cpp's server on this model")
    parser.add_argument("--threads", type=int, default=2, help="of the server (default: %(default)s)")
    parser.add_argument("--part", choices=PARTS, action="append", help="may be repeated; default: all")
    parser.add_argument("--turns", type=int, default=60, help="answers for each judge (default: %(default)s)")
    parser.add_argument("--texts", type=int, default=20, help="decompositions, and passages (default: %(default)s)")
    parser.add_argument("--questions", type=int, default=6, help="each is asked twice (default: %(default)s)")
    parser.add_argument("--judge", choices=SETUPS, action="append", help="may be repeated; default: all")
    parser.add_argument(
        "--first-look", action="store_true", help="the answers to mend by: one pair in three, which no other run has"
    )
    parser.add_argument("--report", action="store_true", help="ask nothing")
    args = parser.parse_args()
    if not args.report:
        if (args.url is None) == (args.gguf is None) or (args.url and not args.model):
            parser.error("give --gguf FILE, or --url URL with --model NAME; or --report alone")
        args.out.mkdir(parents=True, exist_ok=True)
        if args.gguf:
            with served(args.gguf, args.threads) as url:
                run(f"openai:{args.model or args.gguf.stem}@{url}", args)
        else:
            run(f"openai:{args.model}@{args.url}", args)
    where = machine()
    print(f"{where['cpu']}, {where['cores']} cores, vista-guard {where['vista-guard']}\n")
    print("\n".join(report(args.out)))


def run(model: str, args: argparse.Namespace) -> None:
    """The parts, one after the other."""
    out, parts = args.out, args.part or PARTS
    if "turns" in parts:
        cases = chosen_cases(args.turns, first_look=args.first_look)
        asyncio.run(turns(model, Kept(out / "turns.jsonl"), cases, args.judge or SETUPS))
    if "decompositions" in parts:
        asyncio.run(decompositions(model, Kept(out / "decompositions.jsonl"), args.texts))
    if "passages" in parts:
        passages(model, out, args.texts)
    if "dialogues" in parts:
        dialogues(model, out, args.questions)


if __name__ == "__main__":
    main()
