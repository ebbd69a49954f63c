"""`vista-guard decompose exemplars`: a teacher takes the sentences of logs apart, for a decomposer to be trained on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vista_guard.cli.common import exit_codes
from vista_guard.errors import ConfigError
from vista_lab.cli.options import MaxCostOption, chat_model_of

if TYPE_CHECKING:
    from asyncio import Event
    from collections.abc import Callable, Sequence

    from vista_lab.decompose.training.exemplars import LabelledLog, SentenceInput, StepsPrompt, Teacher, TeachingCounts

RULES = "steps:embedded"
NO_MODEL = (
    "steps:embedded is no model: its claims are made by rules, in the format of the four steps. Try the commands with its "
    "exemplars; to train a decomposer, name a large model with --teacher"
)


def exemplars(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOG...",
            help="Logs in any format; MODEL=LOG says who answered in it, to draw as much of each model.",
        ),
    ],
    teacher: Annotated[
        str,
        typer.Option(
            metavar="MODEL",
            help="openai:MODEL@URL, openai:MODEL or langchain:PROVIDER:MODEL. steps:embedded: rules, to try the commands with.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Folder of the exemplars. Exemplars made in the same way are resumed."),
    ],
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Ask about N sentences, balanced by log, model and length.  [default: all]"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", help="Random seed for the sample.")] = 0,
    log_format: Annotated[str, typer.Option("--format", metavar="NAME", help="The logs' format.")] = "auto",
    max_cost: MaxCostOption = None,
    at_once: Annotated[int, typer.Option(min=1, metavar="N", help="Sentences asked about at the same time.")] = 16,
) -> None:
    """Ask a teacher model to split the sentences of logs into claims, as training data for a decomposer.

    Each sentence is shown with the question and two sentences on either side, in the prompt of the decomposer `steps:`.
    Malformed answers, claims with words from nowhere and claims that leave something out are kept apart, with the
    reason. Writes manifest.json, records.jsonl, train.jsonl and validation.jsonl (a tenth of the conversations). After
    Ctrl-C or a kill, rerun the command to resume: no sentence is asked about twice; another prompt or teacher is
    refused. Exits with 0, 1 when the budget is spent or the teacher gave no answer, 2 for wrong usage or input, 130
    after Ctrl-C.

    Example: `vista-guard decompose exemplars log.jsonl --teacher openai:MODEL --out exemplars`
    """
    with exit_codes():
        from vista_guard.settings.sources import Settings
        from vista_lab.cli.long_runs import exit_unfinished, run_stoppable
        from vista_lab.decompose.training.exemplars import EmbeddedTeacher, ModelTeacher, StepsPrompt, Teaching, teach

        prompt = StepsPrompt(Settings.load().model)
        if teacher == RULES:
            typer.echo(NO_MODEL, err=True)
            asked: Teacher = EmbeddedTeacher()
        else:
            model = chat_model_of(teacher, max_cost, at_once, option="--teacher", others=", or steps:embedded: rules")
            asked = ModelTeacher(model, prompt)
        how, chosen = Teaching(asked, prompt, limit, seed, at_once), _logs(logs, log_format)

        async def work(done: Callable[[int], None], stop: Event) -> TeachingCounts:
            try:
                return await teach(chosen, out, how, done, stop, _estimating(asked, prompt, max_cost))
            finally:
                await asked.aclose()

        taught, signals = run_stoppable("sentences", limit or 0, work)
        typer.echo(_summary(taught, out))
    why = None if taught.complete else taught.stopped or f"{taught.unasked:,} sentences got no answer: {taught.fault}"
    exit_unfinished(signals, why)


def _logs(arguments: Sequence[str], log_format: str) -> list[LabelledLog]:
    from vista_lab.decompose.training.exemplars import LabelledLog
    from vista_lab.runs.plan import of_log

    logs = []
    for name in arguments:
        model, equals, path = name.partition("=")
        if not equals or Path(name).exists():
            model, path = "", name
        source = of_log(Path(path), None if log_format == "auto" else log_format)
        logs.append(LabelledLog(source, source.name, model))
    names = [log.source for log in logs]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"two logs are named {twice}; rename one, so that their sentences can be told apart")
    return logs


def _estimating(
    teacher: Teacher, prompt: StepsPrompt, max_cost: float | None
) -> Callable[[Sequence[SentenceInput]], None]:
    """A function that prints an estimate of the sentences' cost; nothing for rules."""
    from vista_lab.cli.long_runs import tell_estimate
    from vista_lab.decompose.training.exemplars import ModelTeacher, estimate

    def tell(left: Sequence[SentenceInput]) -> None:
        if isinstance(teacher, ModelTeacher) and left:
            tell_estimate(f"{len(left):,} sentences", estimate(left, prompt, teacher.model), max_cost)

    return tell


def _summary(taught: TeachingCounts, out: Path) -> str:
    parts = ", ".join(f"{count:,} in {part}.jsonl" for part, count in taught.parts.items())
    resumed = f" ({taught.resumed:,} were there before)" if taught.resumed else ""
    left = taught.total - taught.kept - taught.reasons.total()
    lines = [f"{taught.kept:,} of {taught.total:,} sentences have an exemplar{resumed}: {parts}, in {out}"]
    for why, counts in (("kept", taught.reasons), ("asked", taught.skipped)):
        lines += [f"  {count:>6,}  not {why}: {reason}" for reason, count in counts.most_common()]
    return "\n".join([*lines, *([f"  {left:>6,}  not asked yet"] if left else [])])
