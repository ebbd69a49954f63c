"""`vista-guard replay`: a log through the guard, with progress and a summary."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from vista_guard.cli import common
from vista_guard.errors import ConfigError
from vista_lab.cli.options import MaxCostOption
from vista_lab.logs.readers import names

if TYPE_CHECKING:
    from asyncio import Event
    from collections.abc import Iterator

    from vista_guard.guard import Guard
    from vista_lab.cli.long_runs import ReplayProgress
    from vista_lab.logs.formats import BrokenEntry, Columns, LoggedConversation
    from vista_lab.logs.notes import ReadingNotes
    from vista_lab.logs.roles import Roles
    from vista_lab.metrics.labels import ReplaySummary
    from vista_lab.policies.against import Against

Claims = Literal["given", "judge"]
Answer = Literal["chosen", "rejected"]

FirstPolicyOption = Annotated[
    str,
    typer.Option(
        "--policy",
        metavar="NAME",
        autocompletion=common.starting("monitor", "balanced", "strict", "settings"),
        help="monitor, balanced, strict, settings, or a TOML or YAML file with policy and policy_overrides.",
    ),
]
AgainstOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="A second policy. Turns are judged once; the output compares both policies on them."
    ),
]
LabelsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="With --against: labels of turns, as for calibrate, or a labelled log.  [default: the log's own]",
    ),
]
HtmlOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="With --against: write a self-contained page with the turns. Needs the extra evaluation."
    ),
]
LogArgument = Annotated[
    Path,
    typer.Argument(
        metavar="LOG", help="Logged conversations: JSON, JSON lines, CSV, Parquet, gzipped or not, or a folder of them."
    ),
]
ClaimsOption = Annotated[
    Claims,
    typer.Option(help="given: judge the data's own claims, only in turns that have some. judge: decompose every turn."),
]
FormatOption = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="NAME",
        autocompletion=common.starting("auto", *names()),
        help=f"Format of the log; auto detects it. Formats: {', '.join(names())}.",
    ),
]
ColumnsOption = Annotated[
    str | None,
    typer.Option(
        metavar="WHAT=COLUMN,…",
        help="Columns of a table by field: conversation, role, content, question, answer, messages, time, documents, id, label. "
        "Paths lead into JSON: answer=traj[-1].content. label=NAME:bad says that yes, true and 1 mark a fault there. "
        "time=- leaves a column unread.",
    ),
]
RolesOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME=ROLE,…",
        help="Roles of speakers whose names are not usual: operator=assistant,caller=user. Roles: user, assistant, system, tool.",
    ),
]
AnswerOption = Annotated[
    Answer, typer.Option(help="Answer to judge in rows of preferences, which have a chosen and a rejected one.")
]
KeepOption = Annotated[
    str | None,
    typer.Option(
        "--reports",
        metavar="URL",
        help="Also write new reports, with texts, to this database, to read and review them: a SQLAlchemy URL.  [default: none]",
    ),
]
CacheOption = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Cache for a model judge's answers, so that none is paid for twice."),
]


def replay(
    log: LogArgument,
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Reports, one per line. A file of the same judge and settings is resumed."),
    ],
    judge: common.JudgeOption = None,
    verifier: common.VerifierOption = None,
    decomposer: common.DecomposerOption = None,
    embedder: common.EmbedderOption = None,
    policy: FirstPolicyOption = "monitor",
    against: AgainstOption = None,
    labels: LabelsOption = None,
    html: HtmlOption = None,
    persona: common.PersonaOption = None,
    claims: ClaimsOption = "judge",
    concurrency: Annotated[int, typer.Option(min=1, metavar="N", help="Conversations judged at the same time.")] = 4,
    log_format: FormatOption = "auto",
    columns: ColumnsOption = None,
    roles: RolesOption = None,
    answer: AnswerOption = "chosen",
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Judge only the first N conversations.  [default: all]")
    ] = None,
    cache: CacheOption = None,
    max_cost: MaxCostOption = None,
    reports: KeepOption = None,
) -> None:
    """Judge every assistant turn of a log.

    Writes each report at once. After Ctrl-C, a full disk or a kill, rerun the command to resume. Turns without
    documents are checked against those of `vista-guard documents add`. Knowledge lives in memory; only --reports names
    a database that is written to.

    With --against the reports are those of the policy monitor, so that other policies can be compared on them without
    judging again. Exits with 0 when every turn has a report, 2 for wrong usage or input (also when entries of the log
    could not be read), 1 for other failures, when no claim at all could be judged or the budget is spent, 130 after
    Ctrl-C.

    Example: `vista-guard replay log.jsonl --out reports.jsonl`
    """
    with common.exit_codes():
        from vista_guard.telemetry.sdk import configured
        from vista_lab.logs.formats import Columns
        from vista_lab.logs.roles import parse_roles

        comparison = _comparison(policy, against, log, labels, html)
        mapped = None if columns is None else Columns.parse(columns)
        models = {"judge": judge, "verifier": verifier, "decomposer": decomposer, "embedder": embedder}
        guard = _guard(models, policy if comparison is None else None, persona, cache, max_cost, reports)
        with configured("vista-guard-replay"):
            code = run(
                guard,
                log,
                out,
                claims=claims,
                concurrency=concurrency,
                log_format=log_format,
                limit=limit,
                columns=mapped,
                roles=None if roles is None else parse_roles(roles),
                answer=answer,
                against=comparison,
            )
    raise typer.Exit(code)


def _comparison(policy: str, against: str | None, log: Path, labels: Path | None, html: Path | None) -> Against | None:
    if against is None:
        if labels is not None or html is not None:
            option = "--labels" if labels is not None else "--html"
            raise ConfigError(f"{option} needs a second policy; name it with --against")
        return None
    from vista_lab.policies.against import Against

    return Against.parse(policy, against, log, labels, html)


def _guard(
    models: Mapping[str, str | None],
    policy: str | None,
    persona: Path | None,
    cache: Path | None,
    max_cost: float | None,
    reports: str | None,
) -> Guard:
    """The guard for the replay, which writes only to `reports`. Without a policy the plain monitor leaves decisions for later."""
    from vista_guard.assembly import kept_documents
    from vista_guard.guard import Guard
    from vista_guard.policy.label_policy import PRESETS
    from vista_guard.settings.sources import Settings
    from vista_lab.systems.protocol import with_cost

    options = with_cost({} if cache is None else {"judge_cache": cache}, max_cost)
    options |= {"policy": PRESETS["monitor"]} if policy is None else _policy(policy)
    options |= {} if reports is None else {"record": "full"}
    return Guard.from_settings(
        persona=persona,
        store="memory",
        documents=kept_documents(Settings.load(), models["embedder"]),
        reports=reports,
        judge=models["judge"],
        verifier=models["verifier"],
        decomposer=models["decomposer"],
        embedder=models["embedder"],
        **options,
    )


def _policy(name: str) -> dict[str, Any]:
    """Settings of the guard's policy: a preset with the settings' overrides, a file's, or empty for the settings' own."""
    from vista_guard.policy.label_policy import PRESETS

    if name in PRESETS:
        return {"policy": name}
    from vista_guard.settings.sources import Settings
    from vista_lab.policies.named import SETTINGS, named_policy

    policy = named_policy(name, Settings.load())
    if name == SETTINGS:
        return {}
    table = {} if policy.risk_table is None else {"risk_table": policy.risk_table}
    return {"policy": policy.recipe.policy(), **table}


def run(
    guard: Guard,
    log: Path,
    out: Path,
    *,
    claims: Claims = "judge",
    concurrency: int = 4,
    log_format: str = "auto",
    limit: int | None = None,
    columns: Columns | None = None,
    roles: Roles | None = None,
    answer: Answer = "chosen",
    against: Against | None = None,
) -> int:
    """Replays with the given guard and closes it. Progress goes to stderr, the summary to stdout.

    Args:
        against: two policies to compare over the reports at the end; the guard's own should withhold nothing then.

    Returns:
        The exit code.
    """
    from vista_lab.cli.long_runs import run_judging, stopped_code
    from vista_lab.logs.formats import named, open_entries
    from vista_lab.logs.notes import ReadingNotes
    from vista_lab.runs.loop import ClaimsMode
    from vista_lab.runs.replaying import replay

    opened = open_entries(log, None if log_format == "auto" else named(log_format), columns, answer, roles)
    notes = ReadingNotes()
    entries: Iterator[LoggedConversation | BrokenEntry] = notes.listening(islice(opened.entries, limit))
    if against is not None:
        against.check(guard.parts.judge.info)
        entries = against.heard.listening(entries)
    for line in opened.hints:
        typer.echo(line, err=True)

    async def judge(progress: ReplayProgress, stop: Event) -> ReplaySummary:
        try:
            mode, told = ClaimsMode(claims), progress.update
            return await replay(guard, entries, out, claims=mode, concurrency=concurrency, on_progress=told, stop=stop)
        finally:
            await guard.aclose()

    summary, stopped = run_judging(opened.total if limit is None else min(opened.total, limit), judge)
    _tell(summary, notes, out, compared=against is not None)
    code = stopped_code(f"{summary.turns} reports are in {out}", stopped, summary.exhausted)
    if code is not None:
        return code
    if against is not None:
        against.show(out)
    if not notes.turns:
        why = "has no assistant turn to judge; docs/replay.md has an example of each format"
        typer.echo(f"{common.visible(str(log))} {why}", err=True)
    if summary.broken or not notes.turns:
        return common.WRONG_INPUT
    return common.FAILED if summary.judged_nothing else 0


def _tell(summary: ReplaySummary, notes: ReadingNotes, out: Path, *, compared: bool) -> None:
    from rich.console import Console

    from vista_lab.cli.long_runs import tell_unchecked
    from vista_lab.tables.terminal import summary_table

    judged_by = "replay: decisions of the policy monitor, which judged; yours are below" if compared else "replay"
    Console(highlight=False).print(summary_table(summary, judged_by))
    for line in notes.labels_told():
        typer.echo(common.visible(line))
    for line in notes.told():
        typer.echo(common.visible(line), err=True)
    tell_unchecked(summary, out)
