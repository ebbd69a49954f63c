"""`vista-guard knowmt validate`: how far a judge of pairs agrees with people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vista_guard.cli.common import exit_codes
from vista_lab.cli.decompose.models import MaxCostOption
from vista_lab.cli.knowmt.judge import PromptsOption, QuestionsOption, pair_judge

if TYPE_CHECKING:
    from vista_lab.runs.dialogues.validating import LabelledPair, Validated

PAIRS = "pairs.jsonl"


def validate(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|FILE",
            help="A judged run, with --out or --people; or a CSV with premise (or answer), claim and label_0, label_1, …",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write a run's pairs here, for people to mark.")
    ] = None,
    sample: Annotated[int, typer.Option(min=1, metavar="N", help="Answers whose pairs are drawn.")] = 100,
    seed: Annotated[int, typer.Option(metavar="S", help="Random seed of the draw.")] = 0,
    people: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="consensus.jsonl of vista-guard agree, on the pairs that --out wrote."),
    ] = None,
    judge: Annotated[str, typer.Option(metavar="NAME", help="As of vista-guard knowmt judge.")] = "shipped",
    prompts: PromptsOption = None,
    questions: QuestionsOption = None,
    max_cost: MaxCostOption = None,
) -> None:
    """Have people mark pairs of a run, or compare a judge with what people said.

    With --out: pairs.jsonl, items for vista-guard annotations export --form knowmt_pairs; same sample and seed, same pairs. With
    --people, or labels in a CSV: accuracy, precision, recall and F1 of the judge against the majority, weighted by label, and
    people's own agreement. Exits with 0, 1 when the judge fails, 2 for wrong usage or input.
    """
    with exit_codes():
        from vista_guard.errors import ConfigError
        from vista_lab.runs.dialogues.validating import read_consensus, read_labelled

        if source.is_dir() and (out is None) == (people is None):
            raise ConfigError("give --out to write a run's pairs, or --people to compare with what people said of them")
        if not source.is_dir() and (out is not None or people is not None):
            raise ConfigError(f"--out and --people go with a run, and {source} is a file of labelled pairs")
        if out is not None:
            _write_pairs(source, questions, sample, seed, out)
            return
        drawn = [] if people is None else _pairs(source, questions, sample, seed)
        pairs = read_labelled(source) if people is None else read_consensus(people, drawn)
        typer.echo(_told(_compared(pairs, judge, prompts, max_cost), judge))


def _pairs(folder: Path, questions: Path | None, sample: int, seed: int) -> list[dict[str, str]]:
    from vista_lab.runs.dialogues.scored import run_questions
    from vista_lab.runs.dialogues.validating import pairs_of

    return pairs_of(folder, run_questions(folder, questions).items, sample, seed)


def _write_pairs(folder: Path, questions: Path | None, sample: int, seed: int, out: Path) -> None:
    import json

    from vista_guard.cli.common import visible
    from vista_lab.runs.line_file import write_whole

    pairs = _pairs(folder, questions, sample, seed)
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / PAIRS, "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in pairs))
    path = visible(str(out / PAIRS))
    typer.echo(f"wrote {len(pairs):,} pairs to {path}")
    typer.echo(
        f"next: vista-guard annotations export {path} --form knowmt_pairs --annotators ada,ben,cleo --out sheets",
        err=True,
    )


def _compared(pairs: list[LabelledPair], judge: str, prompts: Path | None, max_cost: float | None) -> Validated:
    import asyncio

    from vista_lab.runs.dialogues.validating import validate

    asked = pair_judge(judge, prompts, max_cost, 8)

    async def compare() -> Validated:
        try:
            return await validate(pairs, asked)
        finally:
            await asked.aclose()

    return asyncio.run(compare())


def _told(found: Validated, judge: str) -> str:
    from vista_lab.metrics.intervals import Share
    from vista_lab.tables.writers import NOTHING

    def figure(value: float | None) -> str:
        return NOTHING if value is None else f"{value:.3f}"

    counts = ", ".join(f"{count:,} {label}" for label, count in found.counts.items())
    lines = [f"{found.pairs:,} pairs on which most people agree: {counts}"]
    if found.fleiss is not None:
        each = ", ".join(map(figure, found.cohen))
        lines.append(f"people: Fleiss' kappa {figure(found.fleiss)}, Cohen's {each}")
        lines.append(f"each with the majority: {', '.join(map(figure, found.against_majority))}")
    accuracy = Share(round(found.accuracy * found.pairs), found.pairs)
    rest = f"precision {figure(found.precision)}, recall {figure(found.recall)}, F1 {figure(found.f1)}"
    lines.append(f"{judge}: accuracy {accuracy}, {rest} (weighted), {found.unjudged:,} unjudged")
    return "\n".join(lines)
