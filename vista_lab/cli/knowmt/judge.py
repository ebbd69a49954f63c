"""`vista-guard knowmt judge`: holds the answers of a run against facts and reference answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vista_guard.cli.common import FAILED, STOPPED, exit_codes
from vista_lab.cli.decompose.models import MaxCostOption, chat_model_of, verifier_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vista_guard.protocols import Decomposer
    from vista_lab.datasets.questions import QuestionItem
    from vista_lab.runs.dialogues.judging import JudgedDialogues, PairJudge

QuestionsOption = Annotated[
    Path | None,
    typer.Option("--questions", metavar="FILE", help="The run's question set, where it is no longer where it was."),
]

PromptsOption = Annotated[
    Path | None,
    typer.Option(
        "--prompts", metavar="FOLDER", help="entails.txt and contradicts.txt for the model.  [default: shipped ones]"
    ),
]


def judge(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder that vista-guard knowmt run wrote.")],
    decomposer: Annotated[
        str, typer.Option(metavar="NAME", help="Takes answers apart: see vista-guard decompose --help.")
    ] = "shipped",
    judge_name: Annotated[
        str,
        typer.Option(
            "--judge",
            metavar="NAME",
            help="A verifier: shipped, hf:ORG/MODEL or a folder. Or a model that is asked twice a pair: openai:MODEL@URL, "
            "openai:MODEL or langchain:PROVIDER:MODEL.",
        ),
    ] = "shipped",
    prompts: PromptsOption = None,
    questions: QuestionsOption = None,
    max_cost: MaxCostOption = None,
    at_once: Annotated[int, typer.Option(min=1, metavar="N", help="Answers judged at the same time.")] = 8,
) -> None:
    """Judge the last answers of a run: each fact against the answer, each statement of the answer against the reference.

    Any number of decomposers and judges may judge one run, one after the other. A pair that a model leaves open after five
    samples is unjudged; the same command asks about it again. Writes statements.jsonl and judgements.jsonl. Exits with 0, 1
    when something is left to judge, 2 for wrong usage or input, 130 after Ctrl-C.
    """
    with exit_codes():
        from vista_guard.judges.decomposers.named import build_decomposer
        from vista_guard.settings.sources import Settings
        from vista_guard.stores.entries import OnnxEmbedder
        from vista_lab.runs.dialogues.scored import run_questions

        read = run_questions(folder, questions)
        settings = Settings.load()
        takes_apart = build_decomposer(decomposer, OnnxEmbedder(), settings.decomposer_options, settings.model)
        assert takes_apart is not None  # it has a name
        pairs = pair_judge(judge_name, prompts, max_cost, at_once)
        judged, signals = _judge(folder, read.items, takes_apart, pairs, at_once)
        typer.echo(_told(judged, pairs.name, folder))
    if signals:
        typer.echo("stopped; run the same command again to resume", err=True)
        raise typer.Exit(STOPPED + signals[0])
    if judged.work.stopped or judged.work.unasked or judged.reasons:
        why = judged.work.stopped or judged.work.fault or f"{judged.unjudged:,} pairs are unjudged"
        typer.echo(f"not finished: {why}; run the same command again to go on", err=True)
        raise typer.Exit(FAILED)


def pair_judge(name: str, prompts: Path | None, max_cost: float | None, at_once: int) -> PairJudge:
    """The judge of pairs that a name stands for: a model that is asked twice, or a verifier.

    Raises:
        ConfigError: there is none of that name, or prompts are given for a verifier.
    """
    from vista_guard.errors import ConfigError
    from vista_lab.runs.dialogues.judging import ModelPairs, VerifierPairs

    if name.startswith(("openai:", "langchain:")):
        return ModelPairs(chat_model_of(name, max_cost, at_once), prompts)
    if prompts is not None:
        raise ConfigError(f"--prompts are of a model; --judge {name} is a verifier")
    return VerifierPairs(verifier_of(None if name == "shipped" else name))


def _judge(
    folder: Path, items: Sequence[QuestionItem], decomposer: Decomposer, pairs: PairJudge, at_once: int
) -> tuple[JudgedDialogues, list[int]]:
    import asyncio

    from vista_guard.judges.composed import ensemble
    from vista_lab.cli.calibrate import steps
    from vista_lab.cli.long_runs import stopping
    from vista_lab.runs.dialogues.judging import judge_dialogues, scored_answers

    signals: list[int] = []
    total = sum(1 for _ in scored_answers(folder))

    async def work() -> JudgedDialogues:
        stop = asyncio.Event()
        with (
            steps("answers", total) as told,
            stopping(stop, signals, lambda said: typer.echo(said.replace("turns", "answers"), err=True)),
        ):
            try:
                return await judge_dialogues(folder, items, decomposer, pairs, at_once=at_once, told=told, stop=stop)
            finally:
                await pairs.aclose()
                await ensemble.aclose(decomposer)  # type: ignore[arg-type]  # closes what can be closed

    return asyncio.run(work()), signals


def _told(judged: JudgedDialogues, name: str, folder: Path) -> str:
    lines = [f"{judged.pairs:,} pairs of {judged.answers:,} answers are judged by {name}, in {folder}"]
    lines += [f"  {count:>6,}  not judged: {reason}" for reason, count in judged.reasons.most_common()]
    return "\n".join(lines)
