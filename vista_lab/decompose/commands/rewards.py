"""`vista-guard decompose rewards`: anyone's completions, scored by the terms of DAD's reward."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vista_guard.cli.common import FAILED, exit_codes
from vista_guard.errors import ConfigError
from vista_lab.cli.options import MaxCostOption, VerifierOption, chat_model_of, plural, verifier_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vista_lab.decompose.training.completions import CompletionRow, ScoredRow, Scoring
    from vista_lab.tables.writers import Sheet

KEPT = ".judged.jsonl"
"""Suffix that turns the output's name into that of the file with the judge's answers."""


def rewards(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="JSON lines, or a table: sentence, completion, label, evidence; also question, context, group and id.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File to write scores to, one JSON line for each row; an existing file is replaced.  [default: none]",
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="Scores the checklist: openai:MODEL, openai:MODEL@URL, langchain:PROVIDER:MODEL."
        ),
    ] = None,
    verifier: VerifierOption = None,
    terms: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Of format, verifier and checklist.  [default: format,verifier; all three with --judge]",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(metavar="TAU", help="Lowest P(supported) of a supported claim, for the sparse reward."),
    ] = None,
    reward: Annotated[
        Literal["dense", "sparse"], typer.Option(help="The verifier's reward that enters the sum.")
    ] = "dense",
    stop_counts: Annotated[
        bool,
        typer.Option(
            "--stop-counts", help="Count a stop phrase as well-formed, as in training; the paper's text does not."
        ),
    ] = False,
    max_cost: MaxCostOption = None,
) -> None:
    """Score a decomposer's completions: format, verifier, checklist, their sum, and advantages within groups.

    A claim's support is its best piece of evidence. A term that cannot be scored, because its model is down, is never
    counted as 0: the row names it under `unscored` and has no sum. With --out and --judge the judge's answers are kept
    beside the scores and are not asked for again. Exits with 0, 1 when rows are unscored, or 2 for wrong usage or
    input.

    Example: `vista-guard decompose rewards completions.jsonl --out scores.jsonl`
    """
    with exit_codes():
        from vista_guard.stores.line_file import write_whole
        from vista_lab.decompose.training.completions import TERMS, as_lines, read_rows
        from vista_lab.tables.output import text

        names = tuple(part.strip() for part in terms.split(",")) if terms else TERMS[: 3 if judge else 2]
        how = _scoring(names, verifier, threshold, reward, stop_counts=stop_counts)
        rows = read_rows(file, how.terms)
        scored = _score(rows, how, judge, max_cost, out)
        if out is not None:
            write_whole(out, as_lines(scored))
        typer.echo(text([table(scored, how)], "md"), nl=False)
        if out is not None:
            typer.echo(f"wrote {out}", err=True)
    unscored = [row for row in scored if row.unscored]
    if unscored:
        why = next(iter(unscored[0].unscored.items()))
        typer.echo(f"{plural(len(unscored), 'row')} unscored; row {unscored[0].row}, {why[0]}: {why[1]}", err=True)
        raise typer.Exit(FAILED)


def _scoring(
    terms: Sequence[str],
    verifier: str | None,
    threshold: float | None,
    reward: Literal["dense", "sparse"],
    *,
    stop_counts: bool,
) -> Scoring:
    """The scoring without its judge, which must be created in the event loop it runs in."""
    from vista_lab.decompose.training.completions import Scoring, check_terms

    checked = check_terms(terms)
    used = verifier_of(verifier) if "verifier" in checked else None
    return Scoring(checked, used, None, threshold, reward, stop_counts)


def _score(
    rows: Sequence[CompletionRow], how: Scoring, judge: str | None, max_cost: float | None, out: Path | None
) -> list[ScoredRow]:
    import asyncio

    from vista_lab.cli.long_runs import steps
    from vista_lab.decompose.judges import checklist_judge, kept_answers
    from vista_lab.decompose.training.completions import AT_ONCE, score

    asks = "checklist" in how.terms
    if asks and judge is None:
        raise ConfigError("the term checklist needs a judge: name one with --judge openai:MODEL@URL")

    async def run() -> list[ScoredRow]:
        kept_at = kept_answers(out.with_name(out.name + KEPT)) if asks and out is not None else nullcontext()
        with steps("rows", len(rows)) as advance, kept_at as answers:
            if not asks or judge is None:
                return await score(rows, replace(how, told=advance))
            asked = checklist_judge(chat_model_of(judge, max_cost, AT_ONCE, option="--judge"), answers)
            try:
                return await score(rows, replace(how, judge=asked, told=advance))
            finally:
                await asked.aclose()

    return asyncio.run(run())


def table(scored: Sequence[ScoredRow], how: Scoring) -> Sheet:
    """Mean and range of each term over the rows that have it, with the number of unscored rows."""
    from statistics import fmean

    from vista_lab.tables.writers import Sheet, headings, row

    both = ("dense", "sparse") if "verifier" in how.terms and how.threshold is not None else ()
    rows = []
    for name in (*how.terms, *both, "total"):
        values = [value for one in scored if (value := getattr(one, name)) is not None]
        figures = [f"{figure(values):.4f}" if values else None for figure in (fmean, min, max)]
        label = f"total ({' + '.join(how.terms)})" if name == "total" else name
        rows.append(row(label, f"{len(values):,}", f"{len(scored) - len(values):,}", *figures))
    heads = headings(["term"], "rows", "unscored", "mean", "least", "most")
    without = sum(not one.claims for one in scored)
    malformed = sum(one.malformed is not None for one in scored)
    notes = [f"The verifier's term is the {how.reward} reward."] if "verifier" in how.terms else []
    notes += [f"{without:,} of {len(scored):,} completions have no claims."] if without else []
    notes += [f"{malformed:,} answers of the checklist's judge could not be read, and count 0."] if malformed else []
    return Sheet("rewards", "Rewards", heads, tuple(rows), tuple(notes))
