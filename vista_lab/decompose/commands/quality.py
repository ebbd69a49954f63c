"""`vista-guard decompose quality`: the claims of runs against their sentences, with a judge's marks and people's."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vista_guard.cli.common import FAILED, exit_codes
from vista_guard.errors import ConfigError, InputError
from vista_lab.cli.options import MaxCostOption, VerifierOption, chat_model_of, verifier_of
from vista_lab.cli.tables import FormatsOption

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vista_lab.decompose.decompositions import DecomposedRun, MeasuredRun
    from vista_lab.decompose.measures import Marks
    from vista_lab.tables.writers import Sheet

KEPT, SENTENCES = "judged.jsonl", "sentences.jsonl"
"""Files in --out: the judge's answers, and every sentence of every run with its measures and marks."""


def quality(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Folders that vista-guard eval wrote, or folders of such.")
    ],
    log: Annotated[
        Path | None,
        typer.Option(
            metavar="LOG", help="The log of the runs: questions, and people's claims as the facts to be covered."
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Marks all five desiderata: openai:MODEL, openai:MODEL@URL or langchain:PROVIDER:MODEL.  [default: none]",
        ),
    ] = None,
    people: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="People's marks: consensus.jsonl of vista-guard agree on the form desiderata."
        ),
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the sentences for people to mark, blind, the runs' methods mixed."),
    ] = None,
    verifier: VerifierOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder for tables, sentences and the judge's answers.")
    ] = None,
    formats: FormatsOption = "md",
    max_cost: MaxCostOption = None,
) -> None:
    """Measure how well runs split responses into claims, on the sentences that all of them have.

    Without a model: claims per sentence, log2 atomicity, claims entailed by their sentence, claims that repeat another,
    facts covered. With --judge also the five desiderata; its answers are kept in --out and not asked for again. With
    --people also the majority of people's marks, and how far the judge agrees with it. To have people mark sentences:
    --items FILE, then `vista-guard annotations export FILE --form desiderata`, then `vista-guard agree`. Exits with 0,
    1 when the judge left sentences unmarked, or 2 for wrong usage or input.

    Example: `vista-guard decompose quality runs/a runs/b`
    """
    with exit_codes():
        from vista_guard.stores.line_file import write_whole
        from vista_lab.tables.output import chosen_formats

        wanted = chosen_formats(formats, out, figures=False)
        if judge is not None and out is None:
            raise ConfigError("--judge needs --out: the judge's answers are kept there, so that none is paid for twice")
        decomposed = _runs(runs, log)
        if items is not None:
            from vista_lab.decompose.desiderata import items_of, items_text

            write_whole(items, items_text(items_of(decomposed)))
            typer.echo(f"wrote {items}", err=True)
        marks, failed = _marks(decomposed, judge, people, max_cost, out)
        _report(decomposed, marks, failed, verifier, wanted, out, has_log=log is not None)
    if failed:
        typer.echo(
            f"{len(failed):,} sentences are unmarked: {next(iter(failed.values()))}; rerun the command to mark them",
            err=True,
        )
        raise typer.Exit(FAILED)


def _runs(places: Sequence[Path], log: Path | None) -> list[DecomposedRun]:
    from vista_lab.decompose.decompositions import known_turns, read_decompositions, shared_sentences
    from vista_lab.runs.plan import of_log
    from vista_lab.tables.output import find_folders

    known = {} if log is None else known_turns(of_log(log).read())
    runs = [read_decompositions(path, name, known) for name, path in find_folders(places).items()]
    if log is not None and not any(turn in known for run in runs for turn in run.facts):
        raise InputError(f"--log {log} has no turn of {', '.join(run.name for run in runs)}; give the log of the runs")
    return shared_sentences(runs)


def _marks(
    runs: Sequence[DecomposedRun], judge: str | None, people: Path | None, max_cost: float | None, out: Path | None
) -> tuple[dict[str, Mapping[str, Marks]], Mapping[str, str]]:
    import asyncio

    from vista_lab.cli.long_runs import steps
    from vista_lab.decompose.desiderata import read_consensus
    from vista_lab.decompose.judges import AT_ONCE, ask_all, desiderata_judge, kept_answers

    marks: dict[str, Mapping[str, Marks]] = {}
    failed: Mapping[str, str] = {}
    sentences = {sentence.id: sentence.made for run in runs for sentence in run.sentences}

    async def ask(name: str, folder: Path) -> tuple[Mapping[str, Marks], Mapping[str, str]]:
        with kept_answers(folder / KEPT) as answers, steps("sentences", len(sentences)) as advance:
            asked = desiderata_judge(chat_model_of(name, max_cost, AT_ONCE, option="--judge"), answers)
            try:
                return await ask_all(asked, sentences, advance)
            finally:
                await asked.aclose()

    if judge is not None and out is not None:
        marks["judge"], failed = asyncio.run(ask(judge, out))
    if people is not None:
        marks["people"] = read_consensus(people)
    return marks, failed


def _report(
    runs: Sequence[DecomposedRun],
    marks: Mapping[str, Mapping[str, Marks]],
    failed: Mapping[str, str],
    verifier: str | None,
    formats: Sequence[str],
    out: Path | None,
    *,
    has_log: bool,
) -> None:
    from vista_guard.stores.entries import OnnxEmbedder
    from vista_guard.stores.line_file import write_whole
    from vista_lab.decompose.decompositions import measure_run
    from vista_lab.tables.output import text, write

    used = verifier_of(verifier)
    measured = [measure_run(run, used, OnnxEmbedder()) for run in runs]
    sheets = list(_sheets(measured, marks, failed, used.name, has_log=has_log))
    if out is None:
        typer.echo(text(sheets, formats[0]), nl=False)
        return
    write(sheets, formats, out)
    write_whole(out / SENTENCES, _lines(measured, marks, failed))
    typer.echo(text(sheets, "md"), nl=False)
    typer.echo(f"wrote {out}", err=True)


def _sheets(
    runs: Sequence[MeasuredRun],
    marks: Mapping[str, Mapping[str, Marks]],
    failed: Mapping[str, str],
    verifier: str,
    *,
    has_log: bool,
) -> list[Sheet]:
    from vista_lab.decompose.desiderata import desiderata, items_of, judge_and_people, measures

    facts = "people's claims in the log, else " if has_log else ""
    biased = "what the rules of steps:embedded find in the response, which is biased to them"
    notes = [f"Verifier: {verifier}. Facts to be covered: {facts}{biased}."]
    counts = {
        "have no place in their response, and went to the sentence with most of their words": "unplaced",
        "were not judged; a sentence that its decomposer failed on is among them as it stands": "unchecked",
    }
    for reason, name in counts.items():
        if count := sum(getattr(run.run, name) for run in runs):
            notes.append(f"{count:,} claims {reason}.")
    sheets = [measures(runs, notes)]
    plain = [run.run for run in runs]
    if marks:
        sheets.append(desiderata(plain, marks, [f"{len(failed):,} sentences are unmarked."] if failed else []))
    if len(marks) == 2:
        about = ["The judge against people's majority."]
        sheet = judge_and_people(items_of(plain), marks["judge"], marks["people"], about)
        sheets += [sheet] if sheet is not None else []
    return sheets


def _lines(runs: Sequence[MeasuredRun], marks: Mapping[str, Mapping[str, Marks]], failed: Mapping[str, str]) -> str:
    lines = []
    for run in runs:
        for sentence, measured in zip(run.run.sentences, run.sentences, strict=True):
            own_marks = {who: asdict(own[sentence.id]) for who, own in marks.items() if sentence.id in own}
            why = {"unmarked": failed[sentence.id]} if sentence.id in failed else {}
            talk, turn = sentence.turn
            place = {"conversation": talk, "turn": turn, "place": sentence.place, "id": sentence.id}
            made = {name: getattr(sentence.made, name) for name in ("question", "sentence", "claims")}
            line = {"run": run.run.name, **place, **made, **asdict(measured), **own_marks, **why}
            lines.append(json.dumps(line, ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines)
