"""`vista-guard check`: one assistant turn, judged and shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vista_guard.cli.common import (
    BLOCKED,
    DecomposerOption,
    EmbedderOption,
    JudgeOption,
    PersonaOption,
    PolicyOption,
    VerifierOption,
    exit_codes,
)

if TYPE_CHECKING:
    from vista_guard.guard import Guard
    from vista_guard.settings.sources import Settings
    from vista_guard.types import Conversation, TurnReport


_PATH = re.compile(r"\S*[^\s.]\.(?:jsonl?|txt|md|html?|pdf|csv|ya?ml|toml)|(?:\.{0,2}/)\S+", re.IGNORECASE)
"""One word that names a file."""


def check(
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="The assistant turn; - reads it from stdin.")
    ] = None,
    document: Annotated[
        list[Path] | None,
        typer.Option(
            "--document",
            "-d",
            metavar="FILE",
            help="A file to check the turn against: text, Markdown, HTML, PDF or DOCX; may be repeated.",
        ),
    ] = None,
    conversation: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The conversation so far, as JSON chat messages. Without TEXT, its last assistant turn is checked.",
        ),
    ] = None,
    persona: PersonaOption = None,
    judge: JudgeOption = None,
    verifier: VerifierOption = None,
    decomposer: DecomposerOption = None,
    embedder: EmbedderOption = None,
    policy: PolicyOption = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Folder of knowledge and documents.  [default: from the settings, else no knowledge is kept]",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON and nothing else.")] = False,
) -> None:
    """Check one assistant turn.

    Splits the turn into claims, verifies each against the documents, and shows the findings, the decision and the text
    to deliver. A turn without documents is checked against those of `vista-guard documents add`. Exits with 0 when the
    turn is delivered, 3 when it is blocked, 2 for wrong usage or input, 1 for other failures.

    Example: `vista-guard check -d notes.txt "The hall opened in 1850."`
    """
    with exit_codes():
        import asyncio

        from vista_guard.cli.inputs import conversation_to_check
        from vista_guard.reading.visible import visible
        from vista_guard.settings.sources import Settings

        settings = Settings.load()
        if text and _PATH.fullmatch(text):
            advice = (
                f"a conversation in a file: --conversation {text}; an answer in a file: vista-guard check - < {text}"
            )
            warning = f"warning: {text} looks like a path, and is judged as the answer's text. To check {advice}"
            typer.echo(visible(warning), err=True)
        chat = conversation_to_check(
            text, documents=document or (), conversation=conversation, document_chars=settings.limits.document_chars
        )
        models = {"judge": judge, "verifier": verifier, "decomposer": decomposer, "embedder": embedder}
        options = {**models, "policy": policy, "persona": persona}
        report = asyncio.run(_report(_guard(settings, data_dir, chat, options), chat))
        if as_json:
            typer.echo(report.model_dump_json(indent=2).encode())
        else:
            from rich.console import Console

            from vista_guard.cli.render import report_view

            Console(highlight=False).print(report_view(report))
    if report.blocked:
        raise typer.Exit(BLOCKED)


def _guard(settings: Settings, data_dir: Path | None, conversation: Conversation, options: Mapping[str, Any]) -> Guard:
    """Builds a guard that keeps knowledge only in a configured place, and retrieves documents only for turns without any."""
    from vista_guard.assembly import kept_documents
    from vista_guard.guard import Guard
    from vista_guard.types import Role

    if data_dir is not None:
        return Guard.from_settings(**options, data_dir=data_dir)
    if settings.model_fields_set & {"store", "data_dir", "chroma_url"}:
        return Guard.from_settings(**options)
    bare = any(turn.role is Role.ASSISTANT and not turn.documents for turn in conversation.turns)
    documents = kept_documents(settings, options["embedder"]) if bare else None
    return Guard.from_settings(**options, store="memory", documents=documents)


async def _report(guard: Guard, conversation: Conversation) -> TurnReport:
    try:
        return await guard.acheck(conversation)
    finally:
        await guard.aclose()
