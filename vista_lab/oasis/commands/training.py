"""`vista-guard oasis train` and `vista-guard oasis score`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vista_guard.cli.common import exit_codes, visible
from vista_guard.errors import ConfigError

if TYPE_CHECKING:
    from vista_lab.metrics.retrieval import RecallCurve
    from vista_lab.oasis.training.figures import ExtractorScore
    from vista_lab.training.record import Training

PartName = Literal["extractor", "retriever", "verifier"]
ScoredName = Literal["extractor", "retriever"]
SetArgument = Annotated[
    Path, typer.Argument(metavar="SET", help="Folder that oasis generate wrote.", show_default=False)
]
DoubtfulOption = Annotated[bool, typer.Option("--doubtful", help="Also use pairs that a gate doubted.")]


def train(
    part: Annotated[
        PartName, typer.Argument(metavar="PART", help="extractor, retriever or verifier.", show_default=False)
    ],
    folder: SetArgument,
    out: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Write the model here; an unfinished one is resumed.", show_default=False),
    ],
    recipe: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="small: the shipped model, on a CPU. paper: T5, E5 or DeBERTa as in LLM-OASIS, on a GPU. Or a TOML file.",
        ),
    ] = "small",
    base: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="Begin with hf:ORG/MODEL or a folder.  [default: the recipe's base]"),
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(metavar="FILE", help="verifier, small: earlier training pairs to mix in, JSON lines.")
    ] = None,
    neutrals: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="verifier: chooses each claim's neutral passage, named as in the settings.  [default: the recipe's]",
        ),
    ] = None,
    max_minutes: Annotated[
        float | None, typer.Option(min=0.1, metavar="N", help="small: train no longer.  [default: the recipe's]")
    ] = None,
    doubtful: DoubtfulOption = False,
) -> None:
    """Train a claim extractor, a retriever or a verifier on a generated set.

    Trains on the set's training part and measures on the rest, before and after. FOLDER then holds a model that the
    setting extractor, embedder or verifier loads, and a model card. Sets with too few rows of a label, and splits that
    leak text, are refused. Needs the extra train. Exits with 0 when the model was written, 2 for wrong usage or input,
    1 for other failures.

    Example: `vista-guard oasis train verifier ours --out models/verifier`
    """
    with exit_codes():
        from vista_guard.judges.verifiers import build_verifier
        from vista_lab.oasis.training.generated import read_split
        from vista_lab.oasis.training.train import Job, require_libraries
        from vista_lab.oasis.training.train import train as run
        from vista_lab.training.recipes import ShippedRecipe, read_recipe

        require_libraries()
        chosen = read_recipe(recipe, part, base)
        if max_minutes is not None:
            if not isinstance(chosen, ShippedRecipe):
                raise ConfigError(f"--max-minutes is for recipe small; recipe {recipe} is bounded by its steps")
            chosen = chosen.model_copy(update={"max_minutes": max_minutes})
        choosing = build_verifier(neutrals or chosen.neutrals).verifier if part == "verifier" else None
        split = read_split(folder, part, doubtful=doubtful, neutrals=choosing)
        job = Job(part, split, chosen, out, folder.name, replay)
        _show(run(job, lambda line: typer.echo(line, err=True)), out)


def _show(training: Training, out: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from vista_lab.oasis.training.train import SETTINGS

    data = training.data
    title = f"{training.part}, {data.train:,} rows, {data.held_out:,} held out"
    table = Table("held-out passages", "base", "trained", title=title)
    for name, value in training.after.items():
        table.add_row(name, f"{training.before[name]:.3f}" if name in training.before else "–", f"{value:.3f}")
    console = Console(highlight=False)
    console.print(table)
    place = visible(str(out))
    console.print(f"wrote {place}: set {SETTINGS[training.part]} to it", markup=False, soft_wrap=True)
    if training.part == "verifier":
        console.print(f"calibrate it: vista-guard calibrate --verifier {place} --pairs …", markup=False, soft_wrap=True)


def score(
    part: Annotated[ScoredName, typer.Argument(metavar="PART", help="extractor or retriever.", show_default=False)],
    folder: SetArgument,
    model: Annotated[
        str, typer.Option(metavar="NAME", help="As the setting extractor or embedder names it.")
    ] = "shipped",
    documents: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="retriever: search all windows of these documents, as in use.")
    ] = None,
    depth: Annotated[int, typer.Option(min=1, metavar="K", help="retriever: the deepest k.")] = 100,
    doubtful: DoubtfulOption = False,
    json_lines: Annotated[bool, typer.Option("--json", help="Print JSON: for a retriever R@k for every k.")] = False,
) -> None:
    """Measure an extractor (easiness) or a retriever (R@k) on the set's held-out part.

    Easiness is the mean of each claim's best ROUGE-1 on the other side; R@k is the share of claims whose passage is
    among the first k, with its 95 % interval over documents. Exits with 0, 2 for wrong usage or input, 1 for other
    failures.

    Example: `vista-guard oasis score retriever ours`
    """
    with exit_codes():
        from vista_lab.oasis.training import figures
        from vista_lab.oasis.training.generated import read_held_out, windows_of

        if part == "extractor":
            if documents is not None:
                raise ConfigError("--documents is for the retriever: an extractor searches nothing")
            held_out = read_held_out(folder, "extractor", doubtful=doubtful)
            _show_easiness(model, figures.extractor_score(figures.load_extractor(model), held_out), json_lines)
            return
        from vista_guard.stores.embedders import build_embedder

        rows = read_held_out(folder, "retriever", doubtful=doubtful)
        others = windows_of(documents) if documents is not None else None
        curve = figures.embedder_curve(build_embedder(model), rows, others, depth)
        _show_recall(model, curve, json_lines)


def _show_easiness(model: str, found: ExtractorScore, json_lines: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    if json_lines:
        typer.echo(json.dumps({"extractor": model, **asdict(found.easiness), "unread": found.unread}))
        return
    scored = found.easiness
    table = Table("easiness", "precision", "recall", "F1", title=f"{visible(model)}, {scored.turns:,} passages")
    for name, figures in (("mean over passages", scored.macro), ("over all claims", scored.micro)):
        table.add_row(name, *(f"{value:.3f}" for value in (figures.precision, figures.recall, figures.f1)))
    console = Console(highlight=False)
    console.print(table)
    console.print(f"{scored.predicted_per_turn:.1f} claims a passage, {scored.reference_per_turn:.1f} in the set")
    if found.unread:
        typer.echo(f"{found.unread:,} passages could not be read, and count as without claims", err=True)


def _show_recall(model: str, curve: RecallCurve, json_lines: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    from vista_lab.metrics.intervals import share_text
    from vista_lab.oasis.training.figures import KS

    if json_lines:
        recalls = [curve.at(k) for k in range(1, curve.depth + 1)]
        typer.echo(json.dumps({"embedder": model, "claims": len(curve.shares), "recall": recalls}))
        return
    table = Table("k", "R@k", title=f"{visible(model)}, {len(curve.shares):,} claims")
    for k in sorted({*(k for k in KS if k < curve.depth), curve.depth}):
        table.add_row(str(k), share_text(curve.at(k), curve.interval(k)))
    Console(highlight=False).print(table)
