"""`vista-guard decompose train`: a decomposer of one's own, from exemplars and then against a verifier."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vista_guard.cli.common import exit_codes
from vista_guard.errors import ConfigError
from vista_lab.cli.options import MaxCostOption, VerifierOption, chat_model_of, verifier_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vista_lab.decompose.training.completions import Scoring, Term
    from vista_lab.decompose.training.train import DecomposerJob

JUDGED = "judged.jsonl"
"""File in the model's folder with the checklist's answers, so that none is paid for twice."""


def train(
    stage: Annotated[Literal["sft", "grpo"], typer.Argument(metavar="STAGE", help="sft or grpo.", show_default=False)],
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="sft: folder of decompose exemplars. grpo: JSON lines with sentence, label and evidence; also question, "
            "context and conversation.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(metavar="FOLDER", help="Write the model here; an unfinished one is resumed.", show_default=False),
    ],
    recipe: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="one-gpu: Llama-3.1-8B with LoRA on 141 GB. paper: as in DAD. tiny: a random model, to try the commands on two "
            "cores. Or a TOML file.",
        ),
    ] = "one-gpu",
    base: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Begin with hf:ORG/MODEL or a folder; for grpo, what sft wrote.  [default: the recipe's]",
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="grpo: scores the checklist: openai:MODEL, openai:MODEL@URL, langchain:PROVIDER:MODEL.",
        ),
    ] = None,
    verifier: VerifierOption = None,
    terms: Annotated[
        str | None, typer.Option(metavar="LIST", help="grpo: of format, verifier and checklist.  [default: all three]")
    ] = None,
    reward: Annotated[Literal["dense", "sparse"], typer.Option(help="grpo: the verifier's reward.")] = "dense",
    threshold: Annotated[
        float | None,
        typer.Option(metavar="TAU", help="grpo: lowest P(supported) of a supported claim, for the sparse reward."),
    ] = None,
    max_cost: MaxCostOption = None,
    patience: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="grpo: stop after N steps in which no group differs, answers are cut off, or claims vanish; 0 never stops.",
        ),
    ] = 10,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print tokens, steps and memory; load no model, ask nobody, write nothing."),
    ] = False,
) -> None:
    """Train a decomposer: sft on a teacher's exemplars, then grpo against your verifier.

    A tenth of the conversations is held out, and answered before and after. FOLDER then holds a chat model to serve,
    for --decomposer steps:openai:MODEL@URL, and log.jsonl with each term of the reward by step. After a kill, or when
    the judge was down, rerun the command to resume. Needs the extra rl. Exits with 0 when the model was written, 1 when
    training failed, a model was down or the budget is spent, or 2 for wrong usage or input.

    Example: `vista-guard decompose train sft exemplars --out models/sft`
    """
    with exit_codes():
        from vista_guard.settings.sources import Settings
        from vista_lab.decompose.training.exemplars import StepsPrompt
        from vista_lab.decompose.training.inputs import exemplar_parts, sentence_parts
        from vista_lab.decompose.training.recipes import read_policy_recipe
        from vista_lab.decompose.training.train import DecomposerJob, require_libraries
        from vista_lab.decompose.training.train import train as run

        chosen = read_policy_recipe(recipe, stage, base)
        prompt = StepsPrompt(Settings.load().model)
        if not dry_run:
            require_libraries(chosen)
        if stage == "sft":
            if misplaced := [
                name for name, one in (("--judge", judge), ("--terms", terms), ("--threshold", threshold)) if one
            ]:
                raise ConfigError(f"{misplaced[0]} is for grpo: sft has exemplars and no rewards")
            job = DecomposerJob(chosen, exemplar_parts(data, prompt), prompt, out, data.name)
        else:
            scoring = _scoring(terms, judge, verifier, threshold, reward, planned=dry_run)
            parts = sentence_parts(data, scoring.terms)
            job = DecomposerJob(chosen, parts, prompt, out, data.name, scoring, patience)
        if dry_run:
            _show_plan(job)
            return
        with _with_judge(job, judge, max_cost) as whole:
            trained = run(whole, lambda line: typer.echo(line, err=True))
        for name, value in trained.after.items():
            typer.echo(f"{name:<20} {trained.before.get(name, float('nan')):.3f} → {value:.3f}")
        typer.echo(f"wrote {out}: serve it as a chat model, and set decomposer to steps:openai:MODEL@URL")


def _scoring(
    names: str | None,
    judge: str | None,
    verifier: str | None,
    threshold: float | None,
    reward: Literal["dense", "sparse"],
    *,
    planned: bool,
) -> Scoring:
    """The scoring without its judge; for a plan, also without the verifier."""
    from vista_lab.decompose.training.completions import TERMS, Scoring, check_terms

    terms: tuple[Term, ...] = check_terms([part.strip() for part in names.split(",")]) if names else TERMS
    if "checklist" in terms and judge is None and not planned:
        raise ConfigError("the term checklist needs a judge: --judge openai:MODEL@URL, or leave it out with --terms")
    used = verifier_of(verifier) if "verifier" in terms and not planned else None
    return Scoring(terms, used, None, threshold, reward, stop_counts=True)


@contextmanager
def _with_judge(job: DecomposerJob, judge: str | None, max_cost: float | None) -> Iterator[DecomposerJob]:
    """Adds the judge to the job, with a cache of its answers in the model's folder."""
    if judge is None or "checklist" not in job.how.terms:
        yield job
        return

    from vista_guard._aio import run
    from vista_lab.decompose.judges import checklist_judge, kept_answers
    from vista_lab.decompose.training.completions import AT_ONCE
    from vista_lab.decompose.training.train import claim

    claimed = checklist_judge(chat_model_of(judge, max_cost, AT_ONCE, option="--judge"))
    whole = replace(job, how=replace(job.how, judge=claimed))
    claim(whole)
    with kept_answers(job.out / JUDGED) as kept:
        asked = checklist_judge(claimed.model, kept)
        try:
            yield replace(whole, how=replace(job.how, judge=asked))
        finally:
            run(asked.aclose())


def _show_plan(job: DecomposerJob) -> None:
    from vista_lab.decompose.training.plan import plan
    from vista_lab.tables.output import text
    from vista_lab.tables.writers import Sheet, headings, row

    planned = plan(job)
    heads = headings([f"{job.recipe.name}, {job.stage}"], "plan")
    rows = [row(name, value) for name, value in planned.facts]
    rows += [row(f"GB: {name}", f"{size:.1f}") for name, size in planned.memory]
    rows.append(row("GB: most at the same time", f"{planned.peak:.1f}"))
    typer.echo(text([Sheet("plan", "Plan", heads, tuple(rows), planned.notes)], "md"), nl=False)
