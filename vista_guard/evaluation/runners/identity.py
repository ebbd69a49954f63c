"""How reports were made, in a file beside them: only a run that judges in the same way may add to them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from vista_guard.errors import ConfigError
from vista_guard.evaluation.systems.protocol import SystemInfo
from vista_guard.types import JudgeInfo

ANOTHER_OUT = "Choose another --out"


class HowMade(Protocol):
    """Says how reports are made. A file of reports asks it once, under its lock, before anything is written."""

    def claim(self, path: Path, *, empty: bool) -> None:
        """Writes itself down for a new file of reports; holds itself against what an older one was made with.

        Raises:
            ConfigError: the reports were made in another way, or it cannot be written.
        """
        ...


class RunIdentity(BaseModel):
    """What must be the same for reports of replays to be comparable. Lies in `FILE.run.json` beside the file of reports."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    judge: JudgeInfo
    policy: str
    rules: str | None = None
    """Fingerprint of the policy's rules."""
    persona: str | None = None
    """Key of the persona."""
    context: str
    ungrounded: str
    claims: str

    def claim(self, path: Path, *, empty: bool) -> None:
        """See `HowMade`."""
        beside = path.with_name(path.name + ".run.json")
        if empty:
            write_whole(beside, self.model_dump_json(indent=2) + "\n")
            return
        try:
            made = RunIdentity.model_validate_json(beside.read_bytes())
        except (OSError, ValidationError) as exc:
            unknown = f"{path} is not empty, and no {beside.name} says how it was made"
            raise ConfigError(f"{unknown}. {ANOTHER_OUT}") from exc
        refuse_differences(path, fields(made), fields(self))


def fields(identity: RunIdentity) -> dict[str, str]:
    """Everything that an identity says, as texts by name."""
    return {name: shown(getattr(identity, name)) for name in RunIdentity.model_fields}


def system_fields(system: SystemInfo) -> dict[str, str]:
    """How a system judges, as texts by name."""
    nested: Mapping[str, Mapping[str, object]] = {
        "option": system.options,
        "prompt": system.prompts,
        "shots": system.shots,
    }
    texts = {f"{what} {name}": str(value) for what, found in nested.items() for name, value in found.items()}
    return {"system": system.name, "judge": shown(system.judge), **texts}


def shown(value: object) -> str:
    """A value as it is told in a message."""
    return f"{value.name} {value.version}" if isinstance(value, JudgeInfo) else str(value)


def differences(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Both values by name, where they differ; `-` where only one has such a field."""
    names = dict.fromkeys((*first, *second))
    pairs = {name: (first.get(name, "-"), second.get(name, "-")) for name in names}
    return {name: (one, other) for name, (one, other) in pairs.items() if one != other}


def refuse_differences(path: Path, made: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Passes when reports were made as they would be made now.

    Raises:
        ConfigError: they were not; names each field with both values.
    """
    differing = [f"{name} {old} instead of {new}" for name, (old, new) in differences(made, now).items()]
    if differing:
        found = f"{path} was made with {', '.join(differing)}"
        raise ConfigError(f"{found}. {ANOTHER_OUT}, or run with what it was made with")


def write_whole(path: Path, text: str, otherwise: str = ANOTHER_OUT) -> None:
    """Writes a file that is there as a whole or not at all.

    Raises:
        ConfigError: the disk refuses; says what to do then.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as exc:
        raise ConfigError(f"{path} cannot be written: {exc.strerror}. {otherwise}") from exc
