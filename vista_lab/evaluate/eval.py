"""`vista-guard eval`: a data set or a log through a system, into a run's folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from vista_guard.cli import common
from vista_guard.errors import ConfigError
from vista_lab.cli.options import DataOption, MaxCostOption
from vista_lab.evaluate.datasets import known
from vista_lab.evaluate.replay import CacheOption, ClaimsOption

if TYPE_CHECKING:
    from vista_lab.runs.evaluate import Evaluation
    from vista_lab.runs.loop import RunSettings
    from vista_lab.runs.plan import Plan
    from vista_lab.systems.catalogue import SystemOrder
    from vista_lab.systems.evidence import EvidenceOrder
    from vista_lab.systems.guarded import GuardSystem
    from vista_lab.systems.protocol import System, SystemInfo

Gold = Literal["strict", "safe", "original"]
Engine = Literal["local", "ray"]

ESTIMATED = 1000
"""Most conversations that an estimate samples from, so that no log is held in memory."""


DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATASET|LOG", autocompletion=known, help="A name of vista-guard datasets, or a log's file."
    ),
]
OutOption = Annotated[
    Path, typer.Option(metavar="FOLDER", help="Folder of the run. A run of the same system is resumed.")
]
SystemOption = Annotated[
    str,
    typer.Option(metavar="NAME", help="System to evaluate: vista, vista+ctx, overlap, … An unknown name lists all."),
]
PolicyName = Annotated[str, typer.Option(metavar="NAME", help="monitor, balanced or strict.")]
OwnOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Option of the system, such as threshold=0.5; may be repeated."),
]
EvidenceOption = Annotated[
    str | None,
    typer.Option(
        metavar="KIND[:SOURCE]",
        help="Evidence for each claim separately: given (the row's own documents), corpus (vista-guard documents add), wiki:FILE "
        "(the topic's page in FActScore's dump of Wikipedia), search:MODULE:NAME (a function of yours) or recorded:FILE (the "
        "evidence.jsonl of another run).  [default: the turn's documents as a whole]",
    ),
]
PassagesOption = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="With --evidence: passages for each claim.  [default: 10 of a search, else 5]"
    ),
]
FitOption = Annotated[
    str | None,
    typer.Option(
        "--fit-on",
        metavar="DATASET",
        help="Fit majority or overlap on this set; test sets and the evaluated set are refused.",
    ),
]
GoldOption = Annotated[
    Gold,
    typer.Option(
        help="Reading of the printed summary; the run holds all. original: the data set's labels of turns. "
        "strict: some claim is not VERIFIED. safe: some claim is LACKING_EVIDENCE or CONTRADICTED."
    ),
]
DisjointOption = Annotated[
    bool,
    typer.Option(
        "--disjoint-topics",
        help="factscore-…-test: leave out biographies whose topic is in the other model's training split.",
    ),
]
LimitOption = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Judge a sample of N conversations.  [default: all]")
]
SeedOption = Annotated[int, typer.Option(metavar="S", help="Random seed for the sample.")]
EngineOption = Annotated[Engine, typer.Option(help="local: in this process. ray: on a Ray cluster.")]
WorkersOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="local: conversations judged at the same time. ray: workers.  [default: 4; ray: one per core of the cluster]",
    ),
]
EachOption = Annotated[
    int, typer.Option(min=1, metavar="N", help="ray: conversations judged at the same time by each worker.")
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="ray: address of a running cluster, or auto.  [default: start one on this machine]"
    ),
]
FormatOption = Annotated[str, typer.Option("--format", metavar="NAME", help="Format of a log; auto detects it.")]
ColumnsOption = Annotated[
    str | None,
    typer.Option(metavar="WHAT=COLUMN,…", help="Columns of a tabular log: conversation=thread,role=speaker."),
]
RolesOption = Annotated[
    str | None, typer.Option(metavar="NAME=ROLE,…", help="Roles of a log's speakers: operator=assistant,caller=user.")
]


@dataclass(frozen=True)
class Workers:
    """The engine: `count` conversations at once locally, or workers of a Ray cluster with `each` conversations at once."""

    engine: Engine = "local"
    count: int | None = None
    each: int = 1
    address: str | None = None


def evaluate(
    data: DataArgument,
    out: OutOption,
    system: SystemOption = "vista",
    judge: common.JudgeOption = None,
    verifier: common.VerifierOption = None,
    decomposer: common.DecomposerOption = None,
    embedder: common.EmbedderOption = None,
    policy: PolicyName = "monitor",
    persona: common.PersonaOption = None,
    option: OwnOption = None,
    fit_on: FitOption = None,
    evidence: EvidenceOption = None,
    passages: PassagesOption = None,
    claims: ClaimsOption = "judge",
    gold: GoldOption = "original",
    disjoint_topics: DisjointOption = False,
    limit: LimitOption = None,
    seed: SeedOption = 0,
    max_cost: MaxCostOption = None,
    cache: CacheOption = None,
    engine: EngineOption = "local",
    workers: WorkersOption = None,
    each: EachOption = 1,
    address: AddressOption = None,
    folder: DataOption = None,
    log_format: FormatOption = "auto",
    columns: ColumnsOption = None,
    roles: RolesOption = None,
) -> None:
    """Evaluate a system on a data set or a log.

    Writes a folder: manifest.json (how the run was made), gold.jsonl, reports.jsonl and summary.json. After Ctrl-C, a
    full disk or a kill, rerun the command to resume; a command with other settings is refused. Unchecked turns count in
    no average; the summary gives the coverage. Exits with 0 when every turn has a report, 2 for wrong usage or input
    (also when lines of a log could not be read), 1 for other failures, when no claim at all could be judged or the
    budget is spent, 130 after Ctrl-C.

    Example: `vista-guard eval fade --data ~/data --out runs/fade`
    """
    with common.exit_codes():
        from vista_guard.telemetry.sdk import configured
        from vista_lab.runs.cluster import SERVICE
        from vista_lab.runs.loop import ClaimsMode, RunSettings
        from vista_lab.runs.plan import fit_options, make_plan, source_of
        from vista_lab.systems.catalogue import SystemOrder, asks_judge

        place = _workers(engine, workers, each, address)
        source = source_of(_disjoint(data) if disjoint_topics else data, folder, log_format, columns, roles)
        made = RunSettings(ClaimsMode(claims), limit, seed, engine)
        plan = make_plan(source, made.claims, limit=limit, seed=seed)
        models = {"judge": judge, "verifier": verifier, "decomposer": decomposer, "embedder": embedder}
        settings = _settings(models, policy, persona, cache)
        if source.is_log:
            _tell_gate(Path(data), judge, verifier)
        if judge is not None and not asks_judge(system):
            typer.echo(f"{system} asks no judge: --judge {judge} changes nothing", err=True)
        own = _options(option or ())
        if fit_on is not None:
            fitted = fit_options(fit_on, folder, system=system, measured=source, claims=made.claims)
            own = _add_fitted_options(system, own, fitted)
        evidence_order = _evidence(evidence, passages, out, engine)
        order = SystemOrder(system, source.task, own, settings, source.is_log or source.retrieves, evidence_order)
        with configured(SERVICE):
            code = run(order, plan, out, made, place, max_cost=max_cost, gold=gold)
    raise typer.Exit(code)


def run(
    order: SystemOrder, plan: Plan, out: Path, made: RunSettings, place: Workers, *, max_cost: float | None, gold: Gold
) -> int:
    """Evaluates. Progress and the estimate go to stderr, the summary to stdout.

    Returns:
        The exit code.
    """
    import asyncio

    from rich.console import Console

    from vista_lab.cli.long_runs import ReplayProgress, stopped_code, stopping, tell_unchecked
    from vista_lab.runs.evaluate import evaluate
    from vista_lab.runs.folder import REPORTS
    from vista_lab.runs.loop import Steering
    from vista_lab.tables.terminal import run_table, summary_table

    stopped: list[int] = []

    async def evaluate_and_close() -> Evaluation:
        info = await _rehearse(order, plan, out, made, max_cost)
        progress = ReplayProgress(len(plan.rows.conversations))
        system, at_once = await _start(order, place, max_cost, info, progress.say)
        stop = asyncio.Event()
        try:
            with progress, stopping(stop, stopped, progress.say):
                return await evaluate(system, plan, out, made, Steering(at_once, progress.update, stop))
        finally:
            await system.aclose()

    _tell_left_out(plan)
    if plan.rows.test:
        typer.echo(f"{plan.rows.name} is a test set: its figures are final, nothing is chosen on it", err=True)
    done = asyncio.run(evaluate_and_close())
    console = Console(highlight=False)
    console.print(summary_table(done.session, "evaluation"))
    console.print(run_table(done.figures, gold))
    tell_unchecked(done.session, out / REPORTS)
    reported = f"{done.figures.reported:,} of {done.figures.turns:,} turns are in {out}"
    code = stopped_code(reported, stopped, done.session.exhausted)
    if code is not None:
        return code
    # Unreadable rows of a published data set are only counted; those of the user's own log should be fixed.
    mendable = plan.source.is_log and done.figures.skipped > 0
    if mendable or not done.figures.complete:
        return common.WRONG_INPUT
    return common.FAILED if done.session.judged_nothing else 0


def _tell_gate(log: Path, judge: str | None, verifier: str | None) -> None:
    from vista_guard.judges.verifiers.named import SHIPPED
    from vista_lab.runs.made import gate_of

    gate = gate_of(log)
    measured = judge if judge not in (None, "embedded") else verifier or SHIPPED
    if gate and gate == measured:
        why = f"gates that asked {gate}, which is measured here: its figures are too good"
        how = "Generate with another --gate, or measure on gold that people checked"
        typer.echo(f"the pairs of this log passed {why}. {how}", err=True)


def _tell_missing_pages(system: GuardSystem, plan: Plan) -> None:
    missing = system.evidence.without_page(entry.topic for entry in plan.entries()) if system.evidence else []
    if missing:
        names = ", ".join(repr(topic) for topic in missing[:20]) + (", …" if len(missing) > 20 else "")
        typer.echo(
            common.visible(f"no page for {len(missing):,} topics, whose claims stay unchecked: {names}"), err=True
        )


def _tell_left_out(plan: Plan) -> None:
    """Names what could not be read and what a reader left out, and counts conversations without a turn to judge."""
    from vista_lab.logs.source import UNANSWERED

    for line in (*plan.notes.unread_told(), *plan.notes.told()):
        typer.echo(common.visible(line), err=True)
    for line in plan.notes.labels_told() if plan.source.is_log else ():
        typer.echo(common.visible(line), err=True)
    if plan.silent > plan.notes.omissions[UNANSWERED]:
        what = "conversation has" if plan.silent == 1 else "conversations have"
        typer.echo(f"{plan.silent:,} {what} no turn to judge", err=True)


async def _start(
    order: SystemOrder, place: Workers, max_cost: float | None, info: SystemInfo, say: Callable[[str], None]
) -> tuple[System, int]:
    """The system, and the number of conversations it judges at once. Ray workers must have this process's settings."""
    if place.engine == "local":
        return order(max_cost), place.count or 4
    from vista_lab.runs.cluster import RaySystem

    start = partial(RaySystem.start, order, max_cost=max_cost, expected=info, tell=say)
    cluster = await start(workers=place.count, address=place.address, each=place.each)
    return cluster, cluster.places


async def _rehearse(order: SystemOrder, plan: Plan, out: Path, made: RunSettings, max_cost: float | None) -> SystemInfo:
    """Builds the system once for its settings, and prints an estimate of the calls and costs of a model."""
    from vista_lab.cli.long_runs import tell_estimate
    from vista_lab.evaluate.estimating import estimate
    from vista_lab.runs.folder import count_reports
    from vista_lab.runs.loop import prepare, wanted_turns

    def turns(entry: Any) -> Any:
        return wanted_turns(entry, made.claims)

    system = order()
    info = system.info
    try:
        sample = [prepare(entry, made.claims) for entry in islice(plan.entries(), ESTIMATED)]
        usage = await estimate(system, sample, turns)
        _tell_missing_pages(system, plan)
    finally:
        await system.aclose()
    left = plan.rows.turns - count_reports(out)
    if usage is None and left > 0:
        typer.echo("no estimate: how often this system asks a model is not known", err=True)
    if usage is None or not usage.calls or left <= 0:
        return info
    from vista_lab.runs.asking import GenerationEstimate  # it imports the model judge, which is asked

    share = left / usage.turns
    calls, asked, answered = (round(n * share) for n in (usage.calls, usage.input_tokens, usage.output_tokens))
    cost = None if usage.cost is None else usage.cost * share
    estimated = GenerationEstimate(calls, asked, answered, cost)
    tell_estimate(f"{left:,} turns", estimated, max_cost, f" ({usage.sampled} turns rehearsed)")
    return info


def _disjoint(data: str) -> str:
    from vista_lab.datasets.registry import DISJOINT, all_datasets

    if f"{data}{DISJOINT}" not in all_datasets():
        with_it = ", ".join(name.removesuffix(DISJOINT) for name in all_datasets() if name.endswith(DISJOINT))
        raise ConfigError(f"--disjoint-topics: {data} has no such part; the data sets that have one are {with_it}")
    return f"{data}{DISJOINT}"


def _workers(engine: Engine, count: int | None, each: int, address: str | None) -> Workers:
    if engine == "local" and (address is not None or each != 1):
        option = "--address" if address is not None else "--each"
        raise ConfigError(
            f"{option} needs --engine ray; with --engine local, set --workers to the number of conversations judged at once"
        )
    return Workers(engine, count, each, address)


def _evidence(text: str | None, passages: int | None, out: Path, engine: Engine) -> EvidenceOrder | None:
    """The requested evidence: a recording gets its run's manifest, other kinds a file to record into."""
    from vista_lab.runs.folder import read_manifest
    from vista_lab.systems.evidence import EVIDENCE, EvidenceOrder

    if text is None:
        if passages is not None:
            raise ConfigError("--passages needs --evidence")
        return None
    order = EvidenceOrder.parse(text, passages, out.resolve() / EVIDENCE)
    if order.kind != "recorded":
        if engine == "ray":
            how = "run with --engine local, or replay its recording with --evidence recorded:FILE"
            raise ConfigError(f"--evidence {order.kind} is recorded by one process; {how}")
        return order
    if passages is not None:
        raise ConfigError("--passages cannot change a recording; leave it out")
    file = Path(order.source)
    if file.parent == out.resolve():
        raise ConfigError(
            f"--evidence recorded: {file} is this run's own; resume it with the --evidence that it was made with"
        )
    return replace(order, record=None, recorded=read_manifest(file.parent).system.evidence)


def _options(options: Sequence[str]) -> dict[str, str]:
    values = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals or not name:
            raise ConfigError(f"--option is {option!r}; give NAME=VALUE, such as threshold=0.5")
        values[name] = value
    return values


def _add_fitted_options(system: str, own: Mapping[str, str], fitted: Mapping[str, str]) -> dict[str, str]:
    """Adds the fitted options, which are printed and recorded in the manifest."""
    shared = own.keys() & fitted.keys()
    if shared:
        raise ConfigError(f"--fit-on sets {', '.join(sorted(shared))}; give --fit-on or --option, not both")
    typer.echo(f"{system}: {', '.join(f'{name} {value}' for name, value in fitted.items())}", err=True)
    return {**own, **fitted}


def _settings(
    models: Mapping[str, str | None], policy: str, persona: Path | None, cache: Path | None
) -> dict[str, Any]:
    """Settings as plain values. Paths are absolute: a worker may run in another folder."""
    settings = {
        **{kind: str(Path(name).resolve()) if name and Path(name).is_dir() else name for kind, name in models.items()},
        "policy": policy,
        "persona": persona and str(persona.resolve()),
        "judge_cache": cache and cache.resolve(),
    }
    return {name: value for name, value in settings.items() if value is not None}
