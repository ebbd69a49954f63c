"""`vista-guard decompose`: how turns are split into claims. Other packages add their commands to this group."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vista_guard.cli.common import DecomposerOption, command_group, exit_codes, visible

if TYPE_CHECKING:
    from vista_guard.judges.decomposers.sentences import SentenceTrace
    from vista_guard.types import Conversation

decompose_app = command_group("decompose", "Split answers into claims, and train a decomposer of your own.")


@decompose_app.callback()
def _group() -> None:
    """Split answers into claims, and train a decomposer of your own."""


@decompose_app.command()
def show(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="An answer as text, or a conversation as JSON chat messages; - reads text from stdin."
        ),
    ],
    question: Annotated[str | None, typer.Option(metavar="TEXT", help="What the user asked before the answer.")] = None,
    decomposer: DecomposerOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one line for each sentence.")] = False,
) -> None:
    """Show each sentence of an answer, a decomposer's steps, and its claims.

    In a conversation, the last assistant turn is used. Nothing is verified. Where the decomposer gave no answer, the
    sentence is shown with the reason; a guard would leave it unchecked.

    Example: `vista-guard decompose show answer.txt`
    """
    with exit_codes():
        import asyncio

        traces = asyncio.run(_traces(_read(file, question), decomposer))
        for trace in traces:
            typer.echo(trace.model_dump_json() if as_json else visible(_view(trace)))


def _read(file: Path, question: str | None) -> Conversation:
    from vista_guard.cli.inputs import conversation_to_check, read_text
    from vista_guard.errors import InputError
    from vista_guard.types import Role, Turn

    if file.suffix == ".json":
        if question is not None:
            raise InputError(f"--question goes with an answer as text; {file} is a conversation and has its own")
        conversation = conversation_to_check(None, documents=(), conversation=file, document_chars=0)
        last = max(index for index, turn in enumerate(conversation.turns) if turn.role is Role.ASSISTANT)
        return conversation.up_to(last)
    conversation = conversation_to_check(read_text(file), documents=(), conversation=None, document_chars=0)
    question_turns = (Turn(role=Role.USER, text=question),) if question else ()
    return conversation.model_copy(update={"turns": (*question_turns, *conversation.turns)})


async def _traces(conversation: Conversation, name: str | None) -> Sequence[SentenceTrace]:
    from vista_guard.judges.composed import ensemble
    from vista_guard.judges.decomposers.named import build_decomposer
    from vista_guard.judges.decomposers.sentences import trace_of
    from vista_guard.settings.sources import Settings
    from vista_guard.stores.entries import OnnxEmbedder

    settings = Settings.load(decomposer=name) if name else Settings.load()
    decomposer = build_decomposer(
        settings.decomposer or "shipped", OnnxEmbedder(), settings.decomposer_options, settings.model
    )
    assert decomposer is not None  # it has a name
    try:
        return await trace_of(decomposer, conversation.turns[-1], conversation.turns[:-1])
    finally:
        await ensemble.aclose(decomposer)


def _view(trace: SentenceTrace) -> str:
    steps = [f"  | {line}" for line in trace.thoughts.splitlines()]
    claims = [f"  - {claim}" for claim in trace.claims]
    note = [f"  ({trace.status}: {trace.note})"] if trace.note else []
    return "\n".join([trace.sentence, *steps, *(claims or ([] if note else ["  (no claim)"])), *note])
