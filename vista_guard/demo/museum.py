"""The demo's agent: a scripted museum guide, in place of any chat agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import Any

import yaml
from pydantic import TypeAdapter

from vista_guard.reading.files import read_persona
from vista_guard.types import Action, Document, Finding, Label, Outcome, Persona, TurnReport

_DATA = files("vista_guard.demo")

Labels = tuple[Label, ...]


@dataclass(frozen=True)
class Topic:
    """A visitor's question, the guide's drafts for it, the second for when it is asked again, and their documents."""

    question: str
    drafts: tuple[str, ...]
    documents: tuple[str, ...]


@dataclass(frozen=True)
class Step(Topic):
    """A topic of the scripted visit, with the expected result: `labels` are those of each draft's claims."""

    title: str
    action: Action
    labels: tuple[Labels, ...]

    def differs(self, report: TurnReport) -> str | None:
        """Describes a result that differs from the script, or None."""
        labels = tuple(
            _labels(outcomes) for outcomes in (*(past.outcomes for past in report.attempts), report.outcomes)
        )
        expected, got = (_outcome_text(self.action, self.labels), _outcome_text(report.decision.action, labels))
        return None if expected == got else f"expected {expected}, got {got}"


_SCRIPT: Mapping[str, Any] = yaml.safe_load(_DATA.joinpath("script.yaml").read_text(encoding="utf-8"))

VISIT = TypeAdapter(tuple[Step, ...]).validate_python(_SCRIPT["visit"])
TOPICS = (*VISIT, *TypeAdapter(tuple[Topic, ...]).validate_python(_SCRIPT["topics"]))
"""Each can be asked in any order; some answers are wrong, some only at first, some unsupported."""


def guide(messages: Sequence[Mapping[str, Any]], visit: Sequence[Topic] = VISIT) -> dict[str, Any]:
    """Returns the scripted answer to the last question, with the documents it “retrieved”.

    Like any agent it knows the guard only by being asked again: then a note follows the question for each withheld draft.
    """
    steps = {step.question: step for step in visit}
    questions = [message["content"] for message in messages if message["role"] == "user"]
    last = max(place for place, content in enumerate(questions) if content in steps)
    step = steps[questions[last]]
    draft = step.drafts[min(len(questions) - 1 - last, len(step.drafts) - 1)]
    return {"answer": draft, "documents": [document(name) for name in step.documents]}


def persona() -> Persona:
    with as_file(_DATA.joinpath("persona.yaml")) as path:
        return read_persona(path)


def document(name: str) -> Document:
    """Reads a document of the museum. Its first line is its title."""
    title, text = _DATA.joinpath("documents", f"{name}.md").read_text(encoding="utf-8").split("\n", 1)
    return Document(id=name, title=title.removeprefix("# "), text=text.strip())


def _labels(outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    return tuple(str(outcome.label) if isinstance(outcome, Finding) else "unchecked" for outcome in outcomes)


def _outcome_text(action: Action, drafts: Sequence[Sequence[str]]) -> str:
    return f"{action} after " + ", then ".join(" + ".join(labels) or "no claim" for labels in drafts)
