"""`vista-guard knowmt run`: holds the dialogues of a question set with assistants."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vista_guard.cli.common import FAILED, STOPPED, exit_codes
from vista_lab.cli.datasets import DataOption
from vista_lab.cli.decompose.models import MaxCostOption, chat_model_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vista_lab.runs.dialogues.asking import Assistant, Dialogues, Held


def run(
    name: Annotated[
        str,
        typer.Argument(
            metavar="SET",
            help="Question set: JSON, JSONL or CSV with id, questions, answer, facts, domain, documents; or knowmt, with --data.",
        ),
    ],
    model: Annotated[
        list[str],
        typer.Option(
            metavar="MODEL",
            help="openai:MODEL@URL, openai:MODEL, langchain:PROVIDER:MODEL agent:MODULE:NAME, a function that takes messages, or "
            "answers:LOG, transcripts; may be repeated.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder of the run. A run made in the same way is resumed.")
    ],
    setting: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SETTING",
            help="single or multi, with +drift, +concat, +budget=WORDS, +swap=RUN, +static=LOG, +rag=WHEN (base, last, rounds, "
            "all, last@code), +mitigate=HOW (simple, summarize, select, self-refine), +guard=POLICY, @history or @final; may be "
            "repeated.  [default: single and multi]",
        ),
    ] = None,
    preset: Annotated[
        Literal["paper"] | None, typer.Option(help="paper: the paper's settings that need no other run.")
    ] = None,
    references: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|oracle",
            help="Documents of the items: [{sample_id, reference}] as JSON; oracle: the reference answers.  [default: the set's]",
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[MODEL=]FILE", help="System prompt, of one model or of all; may be repeated.  [default: none]"
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Hold the first N items' dialogues.  [default: all]")
    ] = None,
    data: DataOption = None,
    max_cost: MaxCostOption = None,
    at_once: Annotated[int, typer.Option(min=1, metavar="N", help="Dialogues held at the same time.")] = 16,
) -> None:
    """Ask assistants the questions of a set, turn by turn or the last one alone, and write down every answer.

    With guard=POLICY the assistant is wrapped in the guard: what the guard delivers becomes history and is scored. It holds
    answers against the items' documents; without any only guard=monitor runs. An answer that is refused, empty or cut off, or
    that no endpoint gave, is written down with the reason and asked for again by the same command; its later turns are not asked.
    Writes manifest.json and answers.jsonl. Exits with 0, 1 when dialogues are left without an answer, 2 for wrong usage or
    input, 130 after Ctrl-C.
    """
    with exit_codes():
        from vista_lab.datasets.questions import find_questions, read_questions
        from vista_lab.runs.dialogues.asking import Dialogues
        from vista_lab.runs.dialogues.histories import history_of, read_history, read_transcripts
        from vista_lab.runs.dialogues.retrieving import with_references
        from vista_lab.runs.dialogues.settings import PAPER, read_setting

        questions = find_questions(name, data)
        read = read_questions(questions)
        for note in (*read.skipped, *read.told):
            typer.echo(note, err=True)
        kept = replace(read, items=read.items[:limit])
        if references is not None:
            kept = replace(kept, items=tuple(with_references(kept.items, references)))
        chosen = [*(PAPER if preset else ()), *(setting or ([] if preset else ["single", "multi"]))]
        settings = [read_setting(one) for one in chosen]
        assistants = [_assistant(one, max_cost, at_once) for one in model]
        dialogues = Dialogues(
            kept,
            questions,
            assistants,
            settings,
            _systems(system or [], assistants),
            _fingerprint(references),
            {
                **{one.swap: read_history(*_run_and_model(one.swap)) for one in settings if one.swap},
                **{
                    one.static: history_of(read_transcripts(Path(one.static)), kept.items)
                    for one in settings
                    if one.static
                },
            },
        )
        for left, ids in dialogues.manifest().left_out.items():
            typer.echo(f"{left}: not held with {len(ids):,} items, {', '.join(ids[:5])}", err=True)
        _refuse_doubles("--model", [one.name for one in assistants])
        _refuse_doubles("--setting", [one.name for one in dialogues.settings])
        typer.echo(f"{len(kept.items):,} items, {dialogues.calls:,} answers to ask for in all", err=True)
        held, signals = _hold(dialogues, out, at_once)
        typer.echo(_told(held, out))
    if signals:
        typer.echo("stopped; run the same command again to resume", err=True)
        raise typer.Exit(STOPPED + signals[0])
    if not held.complete:
        why = held.work.stopped or f"{held.dialogues - held.whole:,} dialogues have no last answer"
        typer.echo(f"not finished: {why}; run the same command again to resume", err=True)
        raise typer.Exit(FAILED)


def _fingerprint(references: str | None) -> str:
    """A fingerprint of the items' documents, for the manifest."""
    import hashlib

    from vista_lab.runs.dialogues.retrieving import ORACLE

    if references in (None, ORACLE):
        return references or ""
    return hashlib.sha256(Path(references).read_bytes()).hexdigest()


def _run_and_model(swap: str) -> tuple[Path, str | None]:
    """The folder and the model of `RUN` or `RUN:MODEL`; a model's name may have colons itself."""
    if Path(swap).is_dir():
        return Path(swap), None
    run, _, model = swap.partition(":")
    return Path(run), model or None


def _assistant(name: str, max_cost: float | None, at_once: int) -> Assistant:
    from vista_lab.runs.dialogues.asking import ChatAssistant, FunctionAssistant

    if name.startswith("agent:"):
        return FunctionAssistant(name)
    if name.startswith("answers:"):
        from vista_lab.runs.dialogues.histories import TranscriptAssistant

        return TranscriptAssistant(name)
    return ChatAssistant(chat_model_of(name, max_cost, at_once))


def _systems(given: Sequence[str], assistants: Sequence[Assistant]) -> dict[str, str]:
    from vista_guard.cli.inputs import read_text
    from vista_guard.errors import ConfigError

    found: dict[str, str] = {}
    names = [one.name for one in assistants]
    for one in given:
        model, equals, path = one.rpartition("=")
        if equals and model not in names:
            raise ConfigError(f"--system {one!r} names no --model; there are {', '.join(names)}")
        text = read_text(Path(path))
        found |= dict.fromkeys([model] if equals else names, text)
    return found


def _refuse_doubles(option: str, names: Sequence[str]) -> None:
    from vista_guard.errors import ConfigError

    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"{option} {twice} is given twice")


def _hold(dialogues: Dialogues, out: Path, at_once: int) -> tuple[Held, list[int]]:
    import asyncio

    from vista_lab.cli.calibrate import steps
    from vista_lab.cli.long_runs import stopping
    from vista_lab.runs.dialogues.asking import ask

    signals: list[int] = []
    total = len(dialogues.jobs())

    async def hold() -> Held:
        stop = asyncio.Event()
        with (
            steps("dialogues", total) as told,
            stopping(stop, signals, lambda said: typer.echo(said.replace("turns", "dialogues"), err=True)),
        ):
            try:
                return await ask(dialogues, out, at_once=at_once, told=told, stop=stop)
            finally:
                for one in dialogues.assistants:
                    await one.aclose()

    return asyncio.run(hold()), signals


def _told(held: Held, out: Path) -> str:
    lines = [
        f"{held.whole:,} of {held.dialogues:,} dialogues have their last answer: {held.answered:,} answers, in {out}"
    ]
    lines += [f"  {count:>6,}  no answer: {reason}" for reason, count in sorted(held.reasons.items())]
    return "\n".join(lines)
