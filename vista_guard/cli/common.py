"""Parts that commands share: exit codes, common options, and a report on a terminal.

0  the turn was delivered, the replay is complete
1  the judge or a store failed
2  wrong usage, settings or input
3  the turn was blocked
128 + signal  stopped by a signal: 130 for Ctrl-C

Errors print one line on stderr. Texts of models and documents are printed with their control characters removed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vista_guard.reading.visible import visible as visible  # the commands take it from here

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType
    from rich.text import Text

    from vista_guard.types import Evidence, Nearest, Outcome, TurnReport, Usage


FAILED = 1
WRONG_INPUT = 2
BLOCKED = 3
STOPPED = 128
INTERRUPTED = STOPPED + 2


def command_group(name: str, help: str | None = None) -> typer.Typer:
    """A command with subcommands. Help and errors are plain text, as pipes and logs want them."""
    options: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False}
    if help is not None:
        options["help"] = help
    return typer.Typer(name=name, no_args_is_help=True, **options)


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turns expected errors into a message and an exit code. Other exceptions are bugs and show a traceback."""
    from vista_guard.errors import ConfigError, InputError, VistaGuardError

    try:
        yield
    except (ConfigError, InputError) as exc:
        raise _failed(exc, WRONG_INPUT) from exc
    except VistaGuardError as exc:
        raise _failed(exc, FAILED) from exc
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # The reader of stdout has gone, as `| head` does: the interpreter must not try to flush it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(FAILED) from None


def _failed(error: Exception, code: int) -> typer.Exit:
    typer.echo(f"error: {visible(str(error))}", err=True)
    return typer.Exit(code)


JudgeOption = Annotated[
    str | None, typer.Option("--judge", metavar="NAME", help="The judge.  [default: from the settings, else embedded]")
]
VerifierOption = Annotated[
    str | None,
    typer.Option(
        "--verifier",
        metavar="NAME",
        help="Verifier inside the embedded judge: hf:ORG/MODEL, a folder, openai:MODEL@URL.  [default: from the settings, "
        "else shipped]",
    ),
]
DecomposerOption = Annotated[
    str | None,
    typer.Option(
        "--decomposer",
        "--extractor",
        metavar="NAME",
        help="Takes texts apart into claims: sentence, steps:embedded, steps:openai:MODEL@URL, hf:ORG/MODEL, a folder.  "
        "[default: from the settings, else the judge]",
    ),
]
EmbedderOption = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        metavar="NAME",
        help="Model that finds passages in the document store: hf:ORG/MODEL or a folder.  [default: from the settings, else "
        "shipped]",
    ),
]
PolicyOption = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="NAME",
        help="monitor, balanced, strict, or a TOML or YAML file with policy and policy_overrides.  [default: from the settings, "
        "else balanced]",
    ),
]
PersonaOption = Annotated[
    Path | None,
    typer.Option("--persona", metavar="FILE", help="Facts that the agent may take for granted: YAML with name, facts."),
]
DataDirOption = Annotated[
    Path | None, typer.Option("--data-dir", metavar="FOLDER", help="Folder of knowledge and reports.")
]
HostOption = Annotated[
    str | None,
    typer.Option(
        "--host", metavar="ADDRESS", help="Address to listen on.  [default: from the settings, else 127.0.0.1]"
    ),
]

COLOURS = {
    "VERIFIED": "green",
    "OUT_OF_SCOPE": "cyan",
    "ABSTENTION": "blue",
    "LACKING_EVIDENCE": "yellow",
    "CONTRADICTED": "red",
    "ALLOW": "green",
    "FLAG": "yellow",
    "REPAIR": "yellow",
    "BLOCK": "red",
    "UNCHECKED": "magenta",
}


TITLES = {
    "ALLOW": "delivered",
    "FLAG": "delivered, flagged",
    "REPAIR": "delivered after repair",
    "BLOCK": "blocked; delivered instead",
}


def report_view(report: TurnReport) -> RenderableType:
    """Renders the delivered text, each claim with label, evidence and reason, the decision and the score."""
    from rich.console import Group
    from rich.panel import Panel
    from rich.text import Text

    action = report.decision.action
    text, colour = Text(visible(report.response)), COLOURS[action]
    response = Panel(text, title=TITLES[action], title_align="left", border_style=colour)
    return Group(response, *(_outcome(outcome) for outcome in report.outcomes), _decision(report), _footer(report))


def _outcome(outcome: Outcome) -> RenderableType:
    if outcome.kind == "unchecked":
        return claim_view("UNCHECKED", "UNCHECKED", outcome.claim.text, [plain_text(outcome.error)])
    title = f"{outcome.label} {outcome.confidence:.2f}"
    by = f" (judged by {outcome.judged_by})" if outcome.judged_by else ""
    near = [] if outcome.nearest is None or outcome.evidence else [nearest_view(outcome.nearest)]
    details = [*map(quote_view, outcome.evidence), *near, plain_text(outcome.reason + by)]
    return claim_view(title, outcome.label, outcome.claim.text, details)


def claim_view(title: str, colour: str, text: str, details: Sequence[Text]) -> RenderableType:
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    head = Text.assemble((title, f"bold {COLOURS[colour]}"), f"  {visible(text)}")
    return Group(head, *(Padding(detail, (0, 0, 0, 4), expand=False) for detail in details))


def plain_text(text: str) -> Text:
    from rich.text import Text

    return Text(visible(text), style="dim")


def quote_view(evidence: Evidence) -> Text:
    from rich.text import Text

    source = visible(evidence.title or evidence.source_id)
    quote = (f"“{visible(evidence.quote.strip())}”", "italic")
    return Text.assemble(quote, (f" {evidence.source} {source}, {evidence.score:.2f}", "dim"))


def nearest_view(near: Nearest) -> Text:
    """Renders the quote that came nearest to a claim that LACKS evidence."""
    from rich.text import Text

    said = f" nearest, in {visible(near.title or near.source_id)}"
    return Text.assemble((f"“{visible(near.quote.strip())}”", "italic"), (said, "dim"))


def _decision(report: TurnReport) -> Text:
    from rich.text import Text

    action = report.decision.action
    view = (
        Text("\n").append(str(action), style=f"bold {COLOURS[action]}").append(f": {visible(report.decision.reason)}")
    )
    if report.evidence_missing:
        view.append("\nThere was no evidence to verify against.", style="yellow")
    return view


def _footer(report: TurnReport) -> Text:
    from rich.text import Text

    from vista_guard.policy.turn_risk import SAFE

    safe = sum(finding.label in SAFE for finding in report.findings)
    score = "no VISTA score: nothing was judged"
    if report.score is not None:
        score = f"VISTA score {report.score:.2f} ({safe} of {len(report.findings)} judged claims safe)"
    judge = f"judge {report.judge.name} {report.judge.version}"
    spent = [f"{report.timings.total:.0f} ms", *([_spent(report.usage)] if report.usage.calls else [])]
    footer = Text(" · ".join([score, *_risk(report), *spent, judge, f"policy {report.policy}"]), style="dim")
    for warning in report.warnings:
        footer.append(f"\n{visible(warning)}", style="yellow")
    return footer


def _risk(report: TurnReport) -> list[str]:
    if report.risk is None:
        return []
    return [f"risk {report.risk:.2f}{'' if report.risk_calibrated else ', uncalibrated'}"]


def _spent(usage: Usage) -> str:
    tokens = f"{usage.calls} model call{'s' * (usage.calls != 1)}, {usage.input_tokens + usage.output_tokens:,} tokens"
    return tokens if usage.unpriced_calls else f"{tokens}, about ${usage.cost:.4f}"
