"""Small talk: turns that state no fact of their document, and so deserve no flag, through the guard.

    python -m training.suites.remarks --data FOLDER [--limit 20]

Counts how many of them each preset flags all the same, and how many of their claims fail. They are responses of Wizard of
Wikipedia that experts labelled (the audit of Dziri et al. 2022, its development files): `generic` ones by BEGIN's labels,
those whose every speech act (VRM) is an opinion, an own experience, a question or an acknowledgement, and, to compare,
entailed ones. Needs the extra `evaluation`.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.suites.faithful import HEADER, claims_held, judge, lines, policies
from training.suites.loaders import begin_responses, clean, faithdial_rows
from vista_guard.guard import Guard
from vista_guard.types import Conversation, Document, Role, Turn
from vista_lab.datasets.sets import begin as begin_set

AUDIT = Path("train") / "faithdial-audit"
BEGIN = Path("begin") / "begin_dev_wow.tsv"
GENERIC, REMARK, ENTAILED = "generic (audit)", "opinion, question or acknowledgement (audit)", "entailed (audit)"
GENERIC_BEGIN = "Generic (BEGIN dev wow)"
KINDS = (GENERIC, REMARK, GENERIC_BEGIN, ENTAILED)
_ACTS = frozenset({"disclosure", "ack", "acknowledgement", "confirmation", "question"})
"""Speech acts that state no fact about the world."""


@dataclass(frozen=True)
class Remark:
    """A response with the document it had, and the kinds that it belongs to."""

    text: str
    document: str
    kinds: frozenset[str]

    @property
    def conversation(self) -> Conversation:
        """One turn. The message before it is left out: the audit's files often lack it."""
        document = Document(id="knowledge", text=self.document)
        return Conversation(turns=(Turn(role=Role.ASSISTANT, text=self.text, documents=(document,)),))


def read(data: Path) -> list[Remark]:
    """The responses of these kinds in the audit's Wizard of Wikipedia files, and in BEGIN's."""
    return [one for one in (*_audit(data / AUDIT), *_begin(data / BEGIN)) if one.kinds and one.text and one.document]


def _audit(folder: Path) -> Iterator[Remark]:
    for path in sorted(folder.glob("*/*wow.csv")):
        for knowledge, response, begin, vrm in faithdial_rows(path):
            yield Remark(response, knowledge, frozenset(_kinds(begin, vrm)))


def _begin(path: Path) -> Iterator[Remark]:
    for response in begin_responses(path):
        kinds = {GENERIC_BEGIN} if response.label == begin_set.GENERIC else set()
        yield Remark(clean(response.text), clean(response.knowledge), frozenset(kinds))


def _kinds(begin: str, vrm: str) -> Iterator[str]:
    label, acts = _parts(begin), _parts(vrm)
    if label == {"generic"}:
        yield GENERIC
    if label == {"entailment"}:
        yield ENTAILED
    if acts and acts <= _ACTS:
        yield REMARK


def _parts(label: str) -> set[str]:
    return {part for part in re.split(r"[\s,.]+", label.lower()) if part}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--judge", default="embedded", help="as in the settings")
    parser.add_argument("--limit", type=int, help="the first responses of each kind only")
    args = parser.parse_args()
    remarks, began = read(args.data), time.monotonic()
    with Guard.from_settings(judge=args.judge, policy="monitor", store="memory", retrieve=False) as guard:
        info = guard.parts.judge.info
        print(f"small talk, {info.name} {info.version}\n")
        for line in _table(guard, remarks, args.limit):
            print(line, flush=True)
    print(f"\n{time.monotonic() - began:.0f} s")


def _table(guard: Guard, remarks: Sequence[Remark], limit: int | None) -> Iterator[str]:
    yield from HEADER
    shares = {}
    for kind in KINDS:
        conversations = [remark.conversation for remark in remarks if kind in remark.kinds][:limit]
        if not conversations:
            yield f"| {kind} | 0 | | | |"
            continue
        reports = asyncio.run(judge(guard, conversations))
        shares[kind] = claims_held(reports)
        yield from lines(kind, reports, policies(guard.parts.turn_risk))
    yield ""
    yield from (f"{kind}: claims held against them {share} of {share.n}" for kind, share in shares.items())


if __name__ == "__main__":
    main()
