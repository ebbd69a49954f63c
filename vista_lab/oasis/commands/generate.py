"""`vista-guard oasis generate`, `join`, `stats` and `export`: from a folder of documents to pairs and files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vista_guard.cli.common import exit_codes, visible
from vista_guard.errors import InputError
from vista_lab.cli.options import MaxCostOption, chat_model_of, plural, verifier_of

if TYPE_CHECKING:
    from asyncio import Event
    from collections.abc import Callable

    from vista_lab.oasis.chat import ModelGenerator
    from vista_lab.oasis.embedded import EmbeddedGenerator
    from vista_lab.oasis.generate import Outcome
    from vista_lab.oasis.judged import VerifierGates
    from vista_lab.oasis.passages import Corpus
    from vista_lab.oasis.shortcuts import Result
    from vista_lab.oasis.statistics import SetFigures

CallsName = Literal["unified", "stepwise"]
EditsName = Literal["paper", "all"]
SplitName = Literal["document", "passage"]
AT_ONCE = 64
"""Passages worked on at the same time."""

FolderArgument = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Documents: text, Markdown, HTML or PDF, in folders of any depth.")
]
SetsArgument = Annotated[list[Path], typer.Argument(metavar="SET…", help="Folders that oasis generate wrote.")]


def generate(
    folder: FolderArgument,
    out: Annotated[Path, typer.Option(metavar="SET", help="Folder of the set. A set made in the same way is resumed.")],
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="openai:MODEL, openai:MODEL@URL or langchain:PROVIDER:MODEL.  [default: no model, rules of English]",
        ),
    ] = None,
    calls: Annotated[
        CallsName, typer.Option(help="unified: one call a passage. stepwise: one call a step.")
    ] = "unified",
    prompts: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Prompt files of your own: unified.txt, claims.txt, …")
    ] = None,
    edits: Annotated[
        EditsName,
        typer.Option(help="Without a model. paper: no changed numbers or names, no denials. all: these as well."),
    ] = "paper",
    gate: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Verifier of the judged gates: shipped, reader, hf:ORG/MODEL, a folder or openai:MODEL@URL; or none.",
        ),
    ] = "shipped",
    sentences: Annotated[int, typer.Option(min=2, metavar="K", help="Sentences of a passage.")] = 5,
    stride: Annotated[int, typer.Option(min=1, metavar="N", help="Sentences between the starts of two passages.")] = 1,
    per_document: Annotated[
        int, typer.Option(min=0, metavar="N", help="Passages drawn of each document, without overlap; 0: all windows.")
    ] = 1,
    language: Annotated[str, typer.Option(help="Language of the documents; others are left out. Only en now.")] = "en",
    limit: Annotated[int, typer.Option(min=0, metavar="N", help="Draw N passages in all; 0: no limit.")] = 0,
    seed: Annotated[int, typer.Option(metavar="S", help="Random seed for passages and edits.")] = 0,
    shard: Annotated[
        str, typer.Option(metavar="I/N", help="Part I of N, by document; oasis join puts the sets together.")
    ] = "1/1",
    max_cost: MaxCostOption = None,
    at_once: Annotated[int, typer.Option(min=1, metavar="N", help="Passages worked on at the same time.")] = AT_ONCE,
) -> None:
    """Make pairs of factual and unfactual texts from your own documents (LLM-OASIS).

    For each passage: its claims, one of them falsified, a text that tells the claims, and the same text with the
    falsified claim. Writes a folder: manifest.json, records.jsonl and README.md. Every passage gets a record: accepted,
    doubtful or rejected, with the verdict of each gate and the reason. Nothing leaves this machine unless --model or
    --gate names an endpoint. After Ctrl-C, a full disk or a kill, rerun the command to resume: no passage with a record
    is asked about again. Exits with 0 when all passages have a record, 2 for wrong usage or input, 1 for other failures
    and when the budget is spent, 130 after Ctrl-C.

    Example: `vista-guard oasis generate docs --out ours`
    """
    with exit_codes():
        from vista_lab.cli.long_runs import exit_unfinished
        from vista_lab.oasis.judged import VerifierGates
        from vista_lab.oasis.passages import Cut, survey

        part, parts = _shard(shard)
        cut = Cut(sentences, stride, per_document, language, limit, seed, part, parts)
        maker = _generator(model, calls, prompts, edits, seed, max_cost, at_once)
        corpus = survey(folder, cut)
        _tell_corpus(corpus)
        gates = None if gate == "none" else VerifierGates(verifier_of(gate), corpus.elsewhere())
        outcome, signals = _run(maker, gates, corpus, out, at_once, max_cost)
    unasked = f"{outcome.unasked:,} passages got no answer" if outcome.unasked else None
    exit_unfinished(signals, outcome.stopped or unasked)


def _shard(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if not (part.isdigit() and parts.isdigit()):
        raise InputError(f"--shard is {text!r}; give the part and the number of parts, such as 2/8")
    return int(part), int(parts)


def _generator(
    model: str | None,
    calls: CallsName,
    prompts: Path | None,
    edits: EditsName,
    seed: int,
    max_cost: float | None,
    at_once: int,
) -> ModelGenerator | EmbeddedGenerator:
    if model is None:
        from vista_guard._extras import require

        require("making pairs without a model", "lemminflect", "num2words", "textblob", extra="oasis")
        from vista_lab.oasis.embedded import EmbeddedGenerator

        if prompts is not None or max_cost is not None:
            typer.echo("no --model is named: --prompts and --max-cost change nothing", err=True)
        return EmbeddedGenerator(edits, seed)
    from vista_lab.oasis.chat import ModelGenerator

    without = ", or leave --model out to make pairs without a model"
    return ModelGenerator(chat_model_of(model, max_cost, at_once, others=without), calls, prompts)


def _tell_corpus(corpus: Corpus) -> None:
    broken = [file for file in corpus.skipped if file.broken]
    for file in broken[:20]:
        typer.echo(visible(f"{file.path}: {file.reason}"), err=True)
    left_out = f", {plural(len(corpus.skipped), 'file')} left out" if corpus.skipped else ""
    shard = f" in shard {corpus.cut.shard}/{corpus.cut.shards}" if corpus.cut.shards > 1 else ""
    documents = plural(len(corpus.documents), "document")
    typer.echo(f"{plural(corpus.passages, 'passage')} of {documents}{shard}{left_out}", err=True)


def _run(
    maker: ModelGenerator | EmbeddedGenerator,
    gates: VerifierGates | None,
    corpus: Corpus,
    out: Path,
    at_once: int,
    max_cost: float | None,
) -> tuple[Outcome, list[int]]:
    """Generates; progress and the estimate go to stderr, the outcome to stdout. Also returns the received signals."""
    from vista_lab.cli.long_runs import run_stoppable, tell_estimate
    from vista_lab.files import count_lines
    from vista_lab.oasis.chat import ModelGenerator
    from vista_lab.oasis.generate import HowGenerated, Making
    from vista_lab.oasis.generate import generate as run
    from vista_lab.oasis.statistics import write_card
    from vista_lab.runs.made import RECORDS

    prompts = maker.prompts if isinstance(maker, ModelGenerator) else {}
    how = HowGenerated(maker.name, "none" if gates is None else gates.name, maker.options, prompts)
    left = corpus.passages - count_lines(out / RECORDS)
    if isinstance(maker, ModelGenerator) and left > 0:
        estimated = maker.estimate((passage for _, passages in corpus.read() for passage in passages), left)
        tell_estimate(f"{left:,} passages", estimated, max_cost)

    async def work(done: Callable[[int], None], stop: Event) -> Outcome:
        try:
            return await run(corpus, Making(maker, gates, at_once, lambda _: done(1), stop), out, how)
        finally:
            if isinstance(maker, ModelGenerator):
                await maker.aclose()

    outcome, signals = run_stoppable("passages", corpus.passages, work)
    write_card(out)
    typer.echo(_summary(outcome, out))
    return outcome, signals


def _summary(outcome: Outcome, out: Path) -> str:
    states = ", ".join(f"{count:,} {state}" for state, count in sorted(outcome.states.items())) or "no new records"
    resumed = f" ({outcome.resumed:,} were there before)" if outcome.resumed else ""
    lines = [f"{states}{resumed}; {outcome.made + outcome.resumed:,} of {outcome.total:,} passages are in {out}"]
    lines += [f"  {count:>6,}  {reason}" for reason, count in outcome.reasons.most_common(8)]
    return "\n".join(lines)


def join(
    sets: SetsArgument, out: Annotated[Path, typer.Option(metavar="SET", help="Folder of the joined set.")]
) -> None:
    """Join the sets of all shards into one.

    The sets must be made in the same way except for --shard, and no passage may be in two of them. Exits with 0 when
    the set was written, 2 for wrong usage or input.

    Example: `vista-guard oasis join part-1 part-2 --out ours`
    """
    with exit_codes():
        from vista_lab.oasis.generate import join as run
        from vista_lab.oasis.statistics import write_card

        count = run(sets, out)
        write_card(out)
        typer.echo(f"{count:,} records of {len(sets)} sets are in {out}")


def stats(
    sets: SetsArgument,
    shortcuts: Annotated[
        bool, typer.Option(help="Whether a bag of words can guess the labels (needs the extra evaluation).")
    ] = True,
) -> None:
    """Count a set: Table 2 of LLM-OASIS, results of each gate, acceptance by word overlap, shortcuts.

    A set with a shortcut has no accepted pair: they count as doubtful. Exits with 0, 2 for wrong usage or input.

    Example: `vista-guard oasis stats ours`
    """
    with exit_codes():
        from rich.console import Console

        from vista_lab.oasis.records import read_records
        from vista_lab.oasis.statistics import figures

        if shortcuts:
            from vista_guard._extras import require

            require("the check for shortcuts", "sklearn", "scipy", extra="evaluation")
        found = figures(chain.from_iterable(map(read_records, sets)), shortcuts=shortcuts)
        console = Console(highlight=False)
        for table in tables(found):
            console.print(table)


def tables(found: SetFigures) -> Iterable[object]:
    """The figures as tables for the terminal."""
    from rich.table import Table

    from vista_lab.runs.made import Grade, State

    first = Table("", "value", title="Table 2")
    for name, value in vars(found.table).items():
        shown = "-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.1f}"
        first.add_row(name.replace("_", " "), shown)
    yield first
    yield _count_table("records", {str(state): found.states.get(state, 0) for state in State})
    if found.reasons:
        yield _count_table("reasons", dict(list(found.reasons.items())[:12]))
    gates = Table("gate", *map(str, Grade), "passed, share", title="gates, by a record's worst verdict")
    for name, grades in found.gates.items():
        share = grades.get(Grade.PASSED, 0) / sum(grades.values())
        gates.add_row(name, *(f"{grades.get(grade, 0):,}" for grade in Grade), f"{share:.1%}")
    yield gates
    bands = Table("overlap of F and passage", *map(str, State), "accepted, share", title="acceptance by overlap")
    for name, states in found.overlaps.items():
        share = states.get(State.ACCEPTED, 0) / sum(states.values())
        bands.add_row(name, *(f"{states.get(state, 0):,}" for state in State), f"{share:.1%}")
    yield bands
    if found.shortcuts:
        yield _shortcut_table("shortcuts in claims and their falsified versions", found.shortcuts)


def _count_table(title: str, counts: Mapping[str, int]) -> object:
    from rich.table import Table

    table = Table("", "count", title=title)
    for name, count in counts.items():
        table.add_row(name, f"{count:,}")
    return table


def _shortcut_table(title: str, results: Sequence[Result]) -> object:
    from rich.table import Table

    from vista_lab.oasis.shortcuts import CLAIM_LIMIT, SETS_LIMIT

    limits = f"claim alone (≤ {CLAIM_LIMIT})", f"words as sets (≤ {SETS_LIMIT})"
    table = Table("premise", "pairs", *limits, "", title=title)
    for one in results:
        fails = "SHORTCUT" if one.fails else ""
        table.add_row(one.kind, f"{one.count:,}", f"{one.claim:.3f}", f"{one.sets:.3f}", fails)
    return table


def export(
    sets: SetsArgument,
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder of the export; an older export there is replaced.")
    ],
    split: Annotated[
        SplitName, typer.Option(help="document: no document is in two parts. passage: as in the paper.")
    ] = "document",
    test: Annotated[
        float, typer.Option(min=0, max=0.9, metavar="SHARE", help="Share that is set aside for tests.")
    ] = 0.1,
    validation: Annotated[
        float, typer.Option(min=0, max=0.9, metavar="SHARE", help="Share of the rest for validation.")
    ] = 0.2,
    seed: Annotated[int, typer.Option(metavar="S", help="Random seed for the split.")] = 0,
    doubtful: Annotated[bool, typer.Option(help="Include records that no gate failed but one doubted.")] = False,
    neutrals: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Verifier that chooses a passage with not enough for each claim, named as for --gate; none: no such rows.",
        ),
    ] = "shipped",
    entailed_by_unfactual: Annotated[
        bool, typer.Option(help="Also the triplets of unchanged claims and U, which the paper's example A.2 breaks.")
    ] = False,
) -> None:
    """Write a set as files for other tools.

    Makes training, validation and test parts, each with the columns of the released data, verifier triplets (for
    `calibrate --pairs`), retriever pairs, texts with claims, and Tasks 1 and 2 as logs for eval, compare and calibrate.
    Exits with 0 when all was written, 2 for wrong usage or input.

    Example: `vista-guard oasis export ours --out ours-export`
    """
    with exit_codes():
        from vista_lab.oasis.exports import Exporting
        from vista_lab.oasis.exports import export as run
        from vista_lab.oasis.splits import Splitting

        chosen = None if neutrals == "none" else verifier_of(neutrals)
        how = Exporting(Splitting(split, test, validation, seed), doubtful, entailed_by_unfactual, chosen)
        note = run(sets, out, how)
        for name, count in note.counts.items():
            typer.echo(f"{count:>8,}  {out / name}")
