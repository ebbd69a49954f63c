"""`vista-guard knowmt attribute`: which tokens of a dialogue helped its last answer, on a local model."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vista_guard.cli.common import exit_codes, visible
from vista_guard.errors import ConfigError, InputError
from vista_lab.dialogues.commands.judge import QuestionsOption

if TYPE_CHECKING:
    from vista_lab.dialogues.attribution import Importance
    from vista_lab.dialogues.scored import Cohort

_PAGE = (
    "<!doctype html><html lang='en'><meta charset='utf-8'><meta http-equiv='Content-Security-Policy' content=\"default-src "
    "'none'; style-src 'unsafe-inline'\"><title>Attribution</title><h1>Which tokens helped the last answer</h1><p>Green: "
    "attending to the token makes the answer likelier; red: less likely (KnowMT-Bench, Fig. 16).</p>"
)


def attribute(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A judged folder of vista-guard knowmt run.")],
    model: Annotated[str, typer.Option(metavar="MODEL", help="A local model: hf:ORG/MODEL or a folder (extra torch).")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Write the heat maps here, as HTML.")],
    answers_of: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="Model whose answers are weighed, as the run names it.  [default: the run's first]"
        ),
    ] = None,
    setting: Annotated[str, typer.Option(metavar="SETTING", help="Dialogues of this setting.")] = "multi",
    sample: Annotated[int, typer.Option(min=1, metavar="N", help="Number of dialogues, in the set's order.")] = 10,
    whole: Annotated[
        bool, typer.Option("--whole", help="Count the whole answer, not only what is right in it.")
    ] = False,
    max_gib: Annotated[float, typer.Option(min=0.1, metavar="GIB", help="Maximum memory for attention.")] = 8.0,
    device: Annotated[str, typer.Option(metavar="NAME", help="cpu, cuda or cuda:N.")] = "cpu",
    questions: QuestionsOption = None,
) -> None:
    """Weigh each token of a dialogue for its last answer: signed gradient times attention (KnowMT-Bench, App. H.7).

    Only sentences count whose statement the judge found entailed by the reference. The history is that of plain
    dialogues, behind the run's system prompt; a setting that shows another is refused. A dialogue whose attention would
    not fit in memory, or whose parts cannot be found in what the model's chat template writes, is left out and named.
    Exits with 0, or 2 for wrong usage or input, or when no dialogue is left.

    Example: `vista-guard knowmt attribute runs/ours --model hf:ORG/MODEL --out map.html`
    """
    with exit_codes():
        from vista_guard.stores.line_file import write_whole
        from vista_lab.dialogues.attribution import load_local

        if setting not in ("single", "multi"):
            raise ConfigError(f"--setting {setting}: attribution knows the history of single and multi")
        cohort = _cohort(folder, questions, answers_of, setting)
        local = load_local(model, device)
        parts = [_PAGE]
        importances: list[Importance] = []
        for name in list(cohort.by_id)[:sample]:
            try:
                importance, shown = _weigh(folder, cohort, name, local, max_gib, whole=whole)
            except InputError as exc:
                typer.echo(f"{name}: {exc}", err=True)
                continue
            parts.append(f"<h2>{_escape(name)}</h2>{shown}")
            importances.append(importance)
        if not importances:
            raise InputError(f"no dialogue of {folder} could be attributed")
        write_whole(out, "".join(parts) + "</html>\n")
        typer.echo(f"{_means(importances)}, in {out}")


def _escape(text: str) -> str:
    return escape(visible(text))


def _cohort(folder: Path, questions: Path | None, model: str | None, setting: str) -> Cohort:
    from vista_lab.dialogues.scored import read_cohorts, run_questions
    from vista_lab.dialogues.tokens import token_counter

    cohorts = read_cohorts(folder, run_questions(folder, questions), token_counter("words"))
    matching = [one for one in cohorts if one.setting == setting and model in (None, one.model) and one.by_id]
    if not matching:
        raise InputError(f"{folder} has no judged answers of {model or 'any model'} in the setting {setting}")
    return matching[0]


def _weigh(
    folder: Path, cohort: Cohort, name: str, local: tuple[object, object], max_gib: float, *, whole: bool
) -> tuple[Importance, str]:
    from vista_guard.judges.model import Message
    from vista_lab.dialogues.attribution import attribute as weigh
    from vista_lab.dialogues.attribution import dialogue_tokens, heat_map, useful_spans
    from vista_lab.dialogues.records import read_dialogue_manifest, read_dialogues

    place = (cohort.model, cohort.setting, name)
    turns = read_dialogues(folder)[place]
    last = cohort.lines[name]
    system = read_dialogue_manifest(folder).system.get(cohort.model, "")
    messages = [Message("system", system)] if system else []
    for index in range(last.turn):
        messages += [Message("user", turns[index].question), Message("assistant", turns[index].answer or "")]
    answer = last.answer or ""
    ids, parts, places, texts = dialogue_tokens(local[1], [*messages, Message("user", last.question)], answer)
    pairs = zip(cohort.statements.get(name, ()), cohort.by_id[name].statements, strict=True)
    useful = None if whole else useful_spans(answer, [text for text, pair in pairs if pair.entails], places)
    importance = weigh(local[0], ids, parts, useful=useful, max_gib=max_gib)
    return importance, heat_map(texts, importance)


def _means(importances: list[Importance]) -> str:
    from statistics import fmean

    means = []
    for part in ("context", "question", "answer"):
        values = [value for importance in importances if (value := getattr(importance, part)) is not None]
        means.append(f"{part} {fmean(values):+.4f}" if values else f"{part} –")
    return f"{len(importances):,} dialogues; mean importance of a token: {', '.join(means)}"
