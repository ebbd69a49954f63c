"""`python -m tests.lab.evaluate.replay_with_rules LOG OUT FREE CLAIMS MOST`: replay; after FREE later turns, those that come wait
for a file OUT.go.

Files grow to MOST bytes at most, 0 for any size; what does not fit fails as on a full disk.
"""

from __future__ import annotations

import resource
import sys
from itertools import count
from pathlib import Path

import typer

from tests.lab.judges import RuleJudge
from tests.pace import auntil
from vista_guard.cli.common import exit_codes
from vista_guard.guard import Guard
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import WordEmbedder
from vista_lab.evaluate.replay import run


def main(log: Path, out: Path, free: int, claims: str, most: int) -> None:
    begun = count()

    async def held() -> None:
        if next(begun) >= free:
            await auntil(Path(f"{out}.go").exists)

    if most:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    with exit_codes():
        guard = Guard(RuleJudge(held=held), "monitor", knowledge=MemoryKnowledge(WordEmbedder()))
        raise typer.Exit(run(guard, log, out, claims="given" if claims == "given" else "judge", concurrency=2))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
    except typer.Exit as done:
        sys.exit(done.exit_code)
