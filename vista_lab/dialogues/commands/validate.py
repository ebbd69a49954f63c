"""`vista-guard knowmt validate`: agreement of a judge of pairs with people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vista_guard.cli.common import exit_codes, visible
from vista_guard.errors import ConfigError
from vista_lab.cli.options import MaxCostOption, chat_model_of
from vista_lab.dialogues.commands.judge import CacheOption, PromptsOption, QuestionsOption, pair_judge

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vista_lab.dialogues.judging import PairJudge
    from vista_lab.dialogues.naturalness import Naturalness
    from vista_lab.dialogues.validating import DecomposerValidation, JudgeValidation, LabelledPair, ModelTests

PAIRS, ANSWERS = "pairs.jsonl", "answers.jsonl"
FORMS = {PAIRS: "knowmt_pairs", ANSWERS: "knowmt_statements"}


def validate(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|FILE",
            help="A judged run, with --out or --people; or a CSV with premise (or answer), claim and label_0, label_1, …",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write pairs and answers of a run here, for people to mark.")
    ] = None,
    sample: Annotated[int, typer.Option(min=1, metavar="N", help="Number of answers or dialogues to draw.")] = 100,
    seed: Annotated[int, typer.Option(metavar="S", help="Random seed for the sample.")] = 0,
    people: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="consensus.jsonl of vista-guard agree, on the pairs that --out wrote."),
    ] = None,
    counts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The same, on the answers that --out wrote: SMAPE and omissions of the decomposer."
        ),
    ] = None,
    naturalness: Annotated[
        bool,
        typer.Option(
            "--naturalness", help="Have the model of --judge rate dialogues of a run on three rubrics, 1 to 5."
        ),
    ] = False,
    judge: Annotated[str, typer.Option(metavar="NAME", help="A judge, as for vista-guard knowmt judge.")] = "shipped",
    prompts: PromptsOption = None,
    cache: CacheOption = None,
    questions: QuestionsOption = None,
    max_cost: MaxCostOption = None,
) -> None:
    """Have people mark pairs and answers of a run, or compare a judge and a decomposer with people's marks.

    With --out: pairs.jsonl and answers.jsonl, items for `vista-guard annotations export --form knowmt_pairs` and
    `knowmt_statements`; the same sample and seed give the same items. With --people, or labels in a CSV: accuracy,
    precision, recall and F1 of the judge against the majority, weighted by label, and people's own agreement; with
    several models, whether the judge is better on the answers of one (Kruskal-Wallis, Mann-Whitney). With --counts the
    same of the decomposer. Exits with 0, 1 when the judge fails, 2 for wrong usage or input.

    Example: `vista-guard knowmt validate runs/ours --out marks`
    """
    with exit_codes():
        from vista_lab.dialogues.validating import answers_of, read_consensus, read_labelled, validate_decomposer

        chosen = sum((out is not None, people is not None, counts is not None, naturalness))
        if source.is_dir() and chosen != 1:
            raise ConfigError(
                "of a run give one of --out, --people, --counts and --naturalness: to have its pairs marked, or compared"
            )
        if not source.is_dir() and chosen:
            raise ConfigError(
                f"--out, --people, --counts and --naturalness go with a run, and {source} is a file of labelled pairs"
            )
        if naturalness:
            typer.echo(_rate_dialogues(source, sample, seed, judge, max_cost))
        elif out is not None:
            _write_items(source, questions, sample, seed, out)
        elif counts is not None:
            typer.echo(_decomposer_summary(validate_decomposer(counts, answers_of(source, sample, seed))))
        else:
            drawn = [] if people is None else _pairs(source, questions, sample, seed)
            pairs = read_labelled(source) if people is None else read_consensus(people, drawn)
            validated = _validate_judge(pairs, pair_judge(judge, prompts, max_cost, 8, cache))
            models = {item["id"]: item["model"] for item in drawn}
            typer.echo("\n".join([_summary(validated, judge), *_by_model(validated, models)]))


def _pairs(folder: Path, questions: Path | None, sample: int, seed: int) -> list[dict[str, str]]:
    from vista_lab.dialogues.scored import run_questions
    from vista_lab.dialogues.validating import pairs_of

    return pairs_of(folder, run_questions(folder, questions).items, sample, seed)


def _write_items(folder: Path, questions: Path | None, sample: int, seed: int, out: Path) -> None:
    from vista_guard.stores.line_file import write_whole
    from vista_lab.dialogues.validating import answers_of

    out.mkdir(parents=True, exist_ok=True)
    items = {PAIRS: _pairs(folder, questions, sample, seed), ANSWERS: answers_of(folder, sample, seed)}
    for name, form in FORMS.items():
        # The model and the number of statements would bias annotators.
        rows = [{key: value for key, value in item.items() if key not in ("model", "count")} for item in items[name]]
        write_whole(out / name, "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in rows))
        path = visible(str(out / name))
        typer.echo(f"wrote {len(rows):,} items to {path}")
        next_step = f"annotations export {path} --form {form} --annotators ada,ben,cleo --out sheets-{form}"
        typer.echo(f"next: vista-guard {next_step}", err=True)


def _validate_judge(pairs: list[LabelledPair], judge: PairJudge) -> JudgeValidation:
    import asyncio

    from vista_lab.dialogues.validating import validate

    async def compare() -> JudgeValidation:
        try:
            return await validate(pairs, judge)
        finally:
            await judge.aclose()

    return asyncio.run(compare())


def _by_model(validated: JudgeValidation, models: Mapping[str, str]) -> list[str]:
    """Tests whether the judge is better on the answers of one model; empty with a single model."""
    from vista_lab.dialogues.validating import model_tests

    hits: dict[str, list[float]] = {}
    for name, hit in validated.hits.items():
        if name in models:
            hits.setdefault(models[name], []).append(float(hit))
    tests = model_tests(hits)
    return [] if tests is None else _test_lines("accuracy", tests)


def _test_lines(what: str, tests: ModelTests) -> list[str]:
    lines = [f"{what} by model: {', '.join(f'{name} {value:.3f}' for name, value in tests.means.items())}"]
    lines.append(f"Kruskal-Wallis: H {tests.h:.4f}, p {tests.p:.4f}")
    return [*lines, *(f"  {one} and {other}: Mann-Whitney p {p:.3f}, r {r:.3f}" for one, other, p, r in tests.pairs)]


def _decomposer_summary(figures: DecomposerValidation) -> str:
    lines = [f"{figures.answers:,} answers: SMAPE {figures.smape:.1%}, omission rate {figures.omitted:.1%}"]
    by_model = figures.by_model.items()
    lines += [f"  {model}: SMAPE {error:.1%}, omission rate {share:.1%}" for model, (error, share) in by_model]
    return "\n".join([*lines, *([] if figures.tests is None else _test_lines("SMAPE", figures.tests))])


def _rate_dialogues(folder: Path, sample: int, seed: int, judge: str, max_cost: float | None) -> str:
    import asyncio

    from vista_lab.dialogues.naturalness import draw_dialogues, rate

    dialogues, model = draw_dialogues(folder, sample, seed), chat_model_of(judge, max_cost, 8, option="--judge")

    async def ask() -> Naturalness:
        try:
            return await rate(dialogues, model)
        finally:
            await model.aclose()

    ratings = asyncio.run(ask())
    means = ", ".join(f"{name} {value:.2f}" for name, value in ratings.means.items())
    rated = f"{ratings.natural.n:,} of {len(dialogues):,} dialogues, rated by {judge}"
    lines = [f"{rated}: {means}; mean {ratings.overall:.2f}", f"a mean of 4.0 or more (CF): {ratings.natural}"]
    return "\n".join([*lines, *(f"  no rating: {failure}" for failure in ratings.failures[:5])])


def _summary(validated: JudgeValidation, judge: str) -> str:
    from vista_lab.metrics.intervals import Share
    from vista_lab.tables.writers import NOTHING

    def figure(value: float | None) -> str:
        return NOTHING if value is None else f"{value:.3f}"

    counts = ", ".join(f"{count:,} {label}" for label, count in validated.counts.items())
    lines = [f"{validated.pairs:,} pairs on which most people agree: {counts}"]
    if validated.fleiss is not None:
        each = ", ".join(map(figure, validated.cohen))
        lines.append(f"people: Fleiss' kappa {figure(validated.fleiss)}, Cohen's {each}")
        lines.append(f"each with the majority: {', '.join(map(figure, validated.against_majority))}")
    accuracy = Share(round(validated.accuracy * validated.pairs), validated.pairs)
    weighted = f"precision {figure(validated.precision)}, recall {figure(validated.recall)}, F1 {figure(validated.f1)}"
    lines.append(f"{judge}: accuracy {accuracy}, {weighted} (weighted), {validated.unjudged:,} unjudged")
    return "\n".join(lines)
