"""`vista-guard knowmt report`: tables from runs of dialogues, and a gate for CI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vista_guard.cli.common import exit_codes
from vista_guard.errors import InputError
from vista_lab.cli.tables import FiguresOption, FormatsOption, OutOption, print_or_write
from vista_lab.dialogues.commands.judge import QuestionsOption, TokensOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vista_lab.dialogues.scored import Cohort
    from vista_lab.dialogues.tokens import TokenCounter

GATE = 4
"""Exit code if a run fails --fail-if or --against."""


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Judged folders of vista-guard knowmt run, or folders of such."),
    ],
    tables: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Tables of the paper by number: 2, 3, 4, 9, 10, 12, 13 (needs the extra ngrams), 14 (to 18), 19, 20; fig4 (with "
            "14) to fig9; guard.  [default: all that the runs fill but 13]",
        ),
    ] = None,
    formats: FormatsOption = "md",
    out: OutOption = None,
    tokens: TokensOption = None,
    reading: Annotated[
        Literal["code", "exclusive"],
        typer.Option(
            help="A pair found both entailed and contradicted counts as both (the authors' code) or as neither."
        ),
    ] = "code",
    against: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Exit with 4 if S_f is significantly lower, or S_h higher, than here."),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(metavar="CONDITION", help="Exit with 4 if this holds, such as 'S_f<0.2'; may be repeated."),
    ] = None,
    figures: FiguresOption = False,
    setting: Annotated[
        list[str] | None, typer.Option(metavar="SETTING", help="Only these settings; may be repeated.  [default: all]")
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write the answers of two models or settings side by side, as HTML (needs the extra evaluation).",
        ),
    ] = None,
    questions: QuestionsOption = None,
) -> None:
    """Make the tables of judged runs.

    Nothing is asked or judged again. Each figure has its number of answers and its 95 % interval; differences between
    settings are tested on the items that both have. Dialogues without an answer and unjudged ones are counted
    separately. Runs with other data, decomposers or judges get tables of their own. Exits with 0, 2 for wrong usage or
    input, 4 if a condition of --fail-if or --against is met.

    Example: `vista-guard knowmt report runs/ours`
    """
    missed: list[str] = []
    with exit_codes():
        from vista_lab.dialogues.delivery import PairReading
        from vista_lab.dialogues.tables import papers as knowmt
        from vista_lab.dialogues.tables.pictures import draw
        from vista_lab.dialogues.tokens import token_counter
        from vista_lab.tables.output import chosen_formats

        wanted = chosen_formats(formats, out, figures=figures)
        counter, how = token_counter(tokens), PairReading(reading)
        cohorts = _cohorts(runs, questions, counter)
        if setting:
            known = list(dict.fromkeys(one.setting for one in cohorts))
            if unknown := [one for one in setting if one not in known]:
                raise InputError(f"--setting {unknown[0]} is of no answer that is judged; there are {', '.join(known)}")
            cohorts = [one for one in cohorts if one.setting in setting]
        sheets = knowmt.sheets(cohorts, None if tables is None else knowmt.numbers(tables), how)
        for cohort in (one for one in cohorts if not one.by_id):
            typer.echo(f"{cohort.title}: no answer is judged whole", err=True)
        for condition in fail_if or []:
            missed += knowmt.failures(cohorts, condition, how)
        if against is not None:
            compared, lost = knowmt.losses(cohorts, _cohorts([against], questions, counter), how)
            sheets += compared
            missed += lost
        if not sheets:
            raise InputError("nothing fills a table: no answer is judged whole")
        if answers is not None:
            from vista_lab.dialogues.tables.answers import write_answers

            count = write_answers(answers, cohorts, how)
            typer.echo(f"wrote {count:,} items with both answers to {answers}", err=True)
        drawing = (lambda folder: draw(cohorts, folder, how)) if figures else None
        print_or_write(sheets, wanted, out, drawing, "Facts delivered in dialogues")
    for failure in missed:
        typer.echo(f"failed: {failure}", err=True)
    if missed:
        raise typer.Exit(GATE)


def _cohorts(places: Sequence[Path], questions: Path | None, counter: TokenCounter) -> list[Cohort]:
    from vista_lab.dialogues.scored import read_cohorts, run_questions
    from vista_lab.tables.output import find_folders

    folders = find_folders(places, "vista-guard knowmt run").items()
    read = (read_cohorts(folder, run_questions(folder, questions), counter, name) for name, folder in folders)
    return [cohort for cohorts in read for cohort in cohorts]
