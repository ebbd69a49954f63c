"""`vista-guard replay`: a log through the guard, with progress and a summary."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from vista_guard.cli.errors import FAILED, STOPPED, WRONG_INPUT, exit_codes
from vista_guard.cli.options import JudgeOption, PersonaOption, VerifierOption  # typer reads them

if TYPE_CHECKING:
    from vista_guard.evaluation.metrics.labels import Summary
    from vista_guard.guard import Guard

Format = Literal["auto", "reference", "openai", "sharegpt"]
Claims = Literal["given", "judge"]


def replay(
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="Logged conversations: JSON or JSON lines, plain or gzipped.")
    ],
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Where the reports go, one a line. Goes on with what is there.")
    ],
    judge: JudgeOption = None,
    verifier: VerifierOption = None,
    policy: Annotated[str, typer.Option(metavar="NAME", help="monitor, balanced or strict.")] = "monitor",
    persona: PersonaOption = None,
    claims: Annotated[
        Claims,
        typer.Option(
            help="given: judge the log's own claims, and only turns that have some. judge: drop them, judge every turn."
        ),
    ] = "judge",
    concurrency: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many conversations are replayed at once.")
    ] = 4,
    log_format: Annotated[Format, typer.Option("--format", help="The log's format; auto looks at it.")] = "auto",
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the first N conversations.  [default: all]")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where a model judge's answers are kept: none is paid for twice."),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(min=0, metavar="USD", help="Stop when a model judge has cost this much.  [default: no limit]"),
    ] = None,
) -> None:
    """Judge every assistant turn of a log.

    Writes one report a line, as soon as it is there. Stopped by Ctrl-C, a full disk or a kill, the same command goes
    on where it stopped. Turns without documents are held against those of `vista-guard documents add`. Knowledge lives
    in memory: nothing is written to a store. Exits with 0 when all was judged, 2 for wrong usage or input (also when
    single entries of the log could not be read), 1 for other failures and when the judge's budget is spent, 130 after
    Ctrl-C.
    """
    with exit_codes():
        from vista_guard.telemetry.sdk import configured

        guard = _guard(judge, verifier, policy, persona, cache, max_cost)
        with configured("vista-guard-replay"):
            code = run(guard, log, out, claims=claims, concurrency=concurrency, log_format=log_format, limit=limit)
    raise typer.Exit(code)


def _guard(
    judge: str | None,
    verifier: str | None,
    policy: str,
    persona: Path | None,
    cache: Path | None,
    max_cost: float | None,
) -> Guard:
    """The guard that replays: its knowledge lives in memory, and it writes to no store."""
    from vista_guard.assembly import kept_documents
    from vista_guard.guard import Guard
    from vista_guard.settings.sources import Settings

    given: dict[str, Any] = {} if cache is None else {"judge_cache": cache}
    if max_cost is not None:
        given["model"] = {"budget": {"run": {"cost": max_cost}}}
    return Guard.from_settings(
        judge=judge,
        verifier=verifier,
        policy=policy,
        persona=persona,
        store="memory",
        documents=kept_documents(Settings.load()),
        reports=None,
        **given,
    )


def run(
    guard: Guard,
    log: Path,
    out: Path,
    *,
    claims: Claims = "judge",
    concurrency: int = 4,
    log_format: Format = "auto",
    limit: int | None = None,
) -> int:
    """Replays with a guard of the caller's choice, and closes it. Progress goes to stderr, the summary to stdout.

    Returns:
        The exit code.
    """
    import asyncio

    from rich.console import Console

    from vista_guard.cli.progress import ReplayProgress
    from vista_guard.cli.stopping import stopping
    from vista_guard.evaluation.datasets import LogFormat, count, read_log
    from vista_guard.evaluation.figures.tables import summary_table
    from vista_guard.evaluation.runners.replay import ClaimsMode, replay

    entries = islice(read_log(log, None if log_format == "auto" else LogFormat(log_format)), limit)
    total = count(log) if limit is None else min(count(log), limit)
    stopped: list[int] = []

    async def judged() -> Summary:
        stop = asyncio.Event()
        try:
            with ReplayProgress(total) as progress, stopping(stop, stopped, progress.say):
                return await replay(
                    guard,
                    entries,
                    out,
                    claims=ClaimsMode(claims),
                    concurrency=concurrency,
                    on_progress=progress.update,
                    stop=stop,
                )
        finally:
            await guard.aclose()

    summary = asyncio.run(judged())
    Console(highlight=False).print(summary_table(summary))
    if stopped:
        typer.echo(f"stopped: {summary.turns} reports are in {out}; run the same command again to go on", err=True)
        return STOPPED + stopped[0]
    if summary.exhausted:
        typer.echo(
            f"stopped: {summary.exhausted}; {summary.turns} reports are in {out}; run the same command again, "
            "with a new budget, to go on",
            err=True,
        )
        return FAILED
    return WRONG_INPUT if summary.broken else 0
