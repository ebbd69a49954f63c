"""The lab's tasks, and what each adds to the base: commands, pages, systems, data sets, forms and tables.

A task is a room that a person runs. Its package declares `ADDS` in names alone (`module:attribute`), which are loaded where they
are used. So the base imports no task, and looking up what there is loads no code of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

TASKS = ("evaluate", "policies", "annotate", "oasis", "decompose", "dialogues")
"""Packages of the tasks, in the order of `vista-guard --help`."""


EVALUATING, PAPERS = "Logs and evaluation", "Papers and training"
"""Sections of `vista-guard --help` with the commands of tasks."""


@dataclass(frozen=True)
class Command:
    """A command or a group of commands of `vista-guard`.

    Attributes:
        name: as people type it. `reports export` is added to the guard's group `reports`.
        reference: the function, or the group's app.
        summary: the first paragraph of its help.
        section: of the help.
    """

    name: str
    reference: str
    summary: str
    section: str = EVALUATING


@dataclass(frozen=True)
class Additions:
    """A task's additions. All references are `module:attribute`.

    Attributes:
        commands: commands of `vista-guard`, in the order of its help.
        pages: pages of the dashboard, each a `PageInfo`.
        systems: recipes by the name that `vista-guard eval --system` takes.
        data_sets: package with the task's data sets in a file `sets.toml`, as `datasets/sets/sets.toml` has the others.
        forms: package with the task's forms in a folder `forms`.
        tables: of `vista-guard compare`, each a `tables.output.PaperTables`, by the name that `--paper` takes.
    """

    commands: tuple[Command, ...]
    pages: tuple[str, ...] = ()
    systems: Mapping[str, str] = field(default_factory=dict)
    data_sets: str = ""
    forms: str = ""
    tables: Mapping[str, str] = field(default_factory=dict)


def additions() -> Iterator[Additions]:
    """The additions of all tasks, in the order of `TASKS`."""
    for name in TASKS:
        yield import_module(f"vista_lab.{name}").ADDS


def load(reference: str) -> Any:
    """The object that a reference names.

    Examples:
        >>> load("vista_lab.registry:TASKS")[0]
        'evaluate'
    """
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


def named(kind: str) -> dict[str, str]:
    """References of all tasks by name; `kind` is `systems` or `tables`.

    Examples:
        >>> list(named("tables"))
        ['vista', 'sets', 'oasis', 'dad']
    """
    return {name: reference for task in additions() for name, reference in getattr(task, kind).items()}
