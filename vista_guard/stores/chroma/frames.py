"""What the process that holds Chroma and the one that uses it say to each other: lengths and pickles over two pipes."""

from __future__ import annotations

import pickle
import struct
from dataclasses import dataclass, field
from enum import StrEnum
from typing import IO

_LENGTH = struct.Struct("!Q")


class Fault(StrEnum):
    """Why a call has no value."""

    MISSING = "missing"
    """There is no such collection."""
    REFUSED = "refused"
    """Chroma does not take the arguments."""
    BROKEN = "broken"
    """Anything else. An engine that failed once is not asked again: after a full disk it says "database is locked" for ever,
    or never answers."""


@dataclass(frozen=True)
class Call:
    """One call of a client's method, or of the collection's that is named."""

    id: int
    method: str
    collection: str | None = None
    arguments: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """Its value, or the fault and what was said of it. `id` is the call's; 0 when the engine is there."""

    id: int
    value: object = None
    fault: Fault | None = None


def write(stream: IO[bytes], frame: object) -> None:
    """Sends one frame."""
    content = pickle.dumps(frame, protocol=5)
    stream.write(_LENGTH.pack(len(content)) + content)
    stream.flush()


def read(stream: IO[bytes]) -> object:
    """The next frame.

    Raises:
        EOFError: the other side is gone.
    """
    (size,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    return pickle.loads(_exactly(stream, size))  # from our own process, over a pipe that nobody else has


def _exactly(stream: IO[bytes], size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError("the other process is gone")
    return content
