"""The demo: a scripted museum guide, guarded live by the real guard, judge and stores. No key, no network."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from vista_guard.guard import Guard
    from vista_guard.protocols import Judge
    from vista_guard.types import TurnReport

POLICY: Mapping[str, Any] = {"rules": {"CONTRADICTED": {"action": "REPAIR"}, "LACKING_EVIDENCE": {"action": "FLAG"}}}
"""The demo's changes to the balanced policy: a contradicted answer is asked for again, once, and then withheld; an unsupported
claim flags its turn, whatever the turn's risk."""


def run(data_dir: Path | None = None, judge: Judge | str = "embedded", console: Console | None = None) -> bool:
    """Plays the conversation on the terminal, comparing each turn with the script; False if one came out otherwise.

    Args:
        data_dir: folder of the knowledge; a temporary one by default.
        judge: a judge, or its name in the settings.
        console: the output; stdout by default.
    """
    from rich.console import Console

    from vista_guard._extras import has_chroma

    with TemporaryDirectory(ignore_cleanup_errors=True) if data_dir is None else nullcontext(data_dir) as folder:
        store = "chroma" if has_chroma() else "memory"
        guard = museum_guard(Path(folder), judge, store=store, chroma_url=None, reports=None)
        try:
            return _play(guard, console or Console(highlight=False))
        finally:
            guard.close()


def museum_guard(folder: Path, judge: Judge | str, **settings: Any) -> Guard:
    """The guard of the museum's guide. It sets all that decides the outcome: the user's own settings don't change the demo."""
    from vista_guard.demo.museum import persona
    from vista_guard.guard import Guard
    from vista_guard.policy.label_policy import build_policy
    from vista_guard.settings.sources import Limits

    return Guard.from_settings(
        judge=judge,
        policy=build_policy("balanced", POLICY),
        persona=persona(),
        data_dir=folder,
        retrieve=False,
        context="none",
        ungrounded="judge",
        limits=Limits(),
        **settings,
    )


def _play(guard: Guard, console: Console) -> bool:
    from vista_guard.demo import museum, screen

    reports: list[TurnReport] = []
    guarded = guard.wrap(museum.guide, on_report=reports.append)

    def show(view: RenderableType) -> None:
        console.print(view, width=min(console.width, screen.WIDEST))

    show(screen.opening(museum.persona()))
    messages: list[dict[str, str]] = []
    conversation_id = f"demo-{uuid4().hex}"
    for number, step in enumerate(museum.VISIT, 1):
        messages.append({"role": "user", "content": step.question})
        answer = guarded(messages, conversation_id=conversation_id)
        messages.append({"role": "assistant", "content": answer["answer"]})
        known = len(museum.persona().facts) + sum(len(report.remembered) for report in reports)
        show(screen.turn(number, step, reports[-1], known))
    differing = sum(step.differs(report) is not None for step, report in zip(museum.VISIT, reports, strict=True))
    show(screen.closing(reports, differing))
    return not differing
