"""The plan of a run over a data set or a log, made before anything is judged.

Readable rows, a sample of them, and their gold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from vista_guard.errors import ConfigError, InputError
from vista_lab.datasets.files import Task, fingerprint
from vista_lab.datasets.opening import OpenedDataSet, open_dataset, reason
from vista_lab.datasets.registry import find
from vista_lab.logs.formats import Columns, LogFormat, read_log
from vista_lab.logs.source import SUFFIXES, BrokenEntry, LoggedConversation
from vista_lab.runs.folder import GoldLine, Rows
from vista_lab.runs.loop import ClaimsMode, Entry, prepare, wanted_turns
from vista_lab.systems.baselines import fit

REASONS = 50
"""Reasons for skipped rows that a manifest tells apart; the rest are told as one."""
MORE = "other reasons"
NAMED = 20
"""Rows that cannot be read which are named one by one."""
LOG = "log"
"""Stands for the split of what has none."""


@dataclass(frozen=True)
class Source:
    """A data set or a log, ready to be read more than once.

    `files` are names and sha256 of the unzipped bytes. `read` gives the rows from the beginning, the same at every call.
    """

    name: str
    read: Callable[[], Iterator[Entry]]
    files: Mapping[str, str]
    split: str = LOG
    task: Task = Task.UNVERIFIABLE
    test: bool = False
    sample: str = ""
    retrieves: bool = False
    """True where turns without documents are held against those of `vista-guard documents add`, as in every log."""

    @property
    def is_log(self) -> bool:
        """True for a user's own log, False for a data set with a split."""
        return self.split == LOG


@dataclass(frozen=True)
class Plan:
    """The turns that a run will judge. `gold` has a line for each turn to be reported, `broken` the first unreadable rows."""

    source: Source
    rows: Rows
    gold: tuple[GoldLine, ...]
    broken: tuple[BrokenEntry, ...] = ()
    silent: int = 0
    """Conversations that can be read and have no turn to judge."""

    def entries(self) -> Iterator[LoggedConversation]:
        """The chosen conversations, in their order."""
        chosen = frozenset(self.rows.conversations)
        for entry in self.source.read():
            if isinstance(entry, LoggedConversation) and str(entry.conversation.id) in chosen:
                yield entry


def make_plan(source: Source, claims: ClaimsMode, *, limit: int | None = None, seed: int = 0) -> Plan:
    """Reads all rows once, keeps the ids of conversations with turns to judge, and samples `limit` of them (all when None).

    With GIVEN claims, conversations without any are left out, as nothing in them is reported. A larger limit holds the sample
    of a smaller one with the same seed. Raises InputError if two conversations have one id, or nothing is left to judge.
    """
    skipped: Counter[str] = Counter()
    broken: list[BrokenEntry] = []
    turns: dict[str, tuple[GoldLine, ...]] = {}
    grounded: dict[str, int] = {}
    silent = 0
    for entry in source.read():
        if isinstance(entry, BrokenEntry):
            broken += [entry] if len(broken) < NAMED else []
            why = reason(entry.error)
            skipped[why if why in skipped or len(skipped) < REASONS else MORE] += 1
            continue
        name = str(entry.conversation.id)
        if name in turns:
            raise InputError(f"{source.name} has two conversations with the id {name!r}; rename one")
        lines = gold_lines(entry, claims)
        if lines:
            turns[name] = lines
            grounded[name] = sum(bool(entry.conversation.turns[line.turn_index].documents) for line in lines)
        else:
            silent += 1
    if not turns:
        raise InputError(_nothing(source, claims, skipped))
    chosen = sample_names(tuple(turns), limit, seed)
    gold = tuple(line for name in chosen for line in turns[name])
    rows = Rows(
        name=source.name,
        split=source.split,
        task=source.task,
        test=source.test,
        files=source.files,
        conversations=chosen,
        turns=len(gold),
        skipped=dict(skipped),
        sample=source.sample,
        grounded=sum(grounded[name] for name in chosen) if any(line.group for line in gold) else None,
    )
    return Plan(source, rows, gold, tuple(broken), silent)


def sample_names(names: tuple[str, ...], limit: int | None, seed: int) -> tuple[str, ...]:
    """So many of the names, in their order: by a hash with the seed, so that samples of one seed are nested."""
    if limit is None or limit >= len(names):
        return names
    kept = set(sorted(names, key=lambda name: sha256(f"{seed}\0{name}".encode()).digest())[:limit])
    return tuple(name for name in names if name in kept)


def gold_lines(entry: LoggedConversation, claims: ClaimsMode) -> tuple[GoldLine, ...]:
    """The gold of each turn to be reported, in their order. People's labels stay, whoever's claims are judged."""
    found = []
    for index in sorted(wanted_turns(prepare(entry, claims), claims)):
        said, brought = entry.gold.get(index), entry.conversation.turns[index].claims or ()
        labels = {claim.id: entry.labels[claim.id] for claim in brought if claim.id in entry.labels}
        found.append(
            GoldLine(
                conversation_id=str(entry.conversation.id),
                turn_index=index,
                label=None if said is None else said.label,
                positive=None if said is None else said.positive,
                claims=labels,
                unlabelled=len(brought) - len(labels),
                group="" if said is None else said.group,
                places=() if said is None else said.places,
            )
        )
    return tuple(found)


def _nothing(source: Source, claims: ClaimsMode, skipped: Counter[str]) -> str:
    if skipped:
        reason, count = skipped.most_common(1)[0]
        return f"{source.name}: none of {skipped.total():,} rows can be read; {count:,} of them: {reason}"
    if claims is ClaimsMode.GIVEN:
        return f"{source.name}: no turn carries claims; evaluate it with --claims judge"
    return f"{source.name} is empty: it has no assistant turn"


def of_dataset(name: str, folder: Path | None) -> Source:
    """A data set by its name as `vista-guard datasets` lists it, with its files in the folder or below.

    Raises ConfigError if no folder is given; InputError if there is no such data set, or a file of it is missing: says which, and
    where to get it.
    """
    opened = _open(name, folder)
    dataset = opened.dataset
    return Source(
        name=dataset.name,
        read=opened.entries,
        files=opened.fingerprints,
        split=dataset.split,
        task=dataset.task,
        test=dataset.test,
        sample=dataset.sample,
        retrieves=dataset.retrieves,
    )


def fit_options(
    name: str, folder: Path | None, *, system: str, measured: Source, claims: ClaimsMode
) -> Mapping[str, str]:
    """Options of a system (`majority` or `overlap`), fitted on a data set by its name, which is not the measured one.

    Raises ConfigError if no folder is given, or this must not be fitted on that: see `systems.baselines.fit`; InputError if
    there is no such data set, or a file of it is missing.
    """
    opened = _open(name, folder)
    return fit(system, opened.dataset, opened.entries(), measured=measured, claims=claims.value)


def of_log(path: Path, log_format: str | None = None, columns: str | None = None) -> Source:
    """A log: its file, or a folder of files, in the named format (found out when None), a table as `Columns.parse` reads it.

    Raises ConfigError if there is no such format, or no such map; InputError if the file cannot be read.
    """
    known = [one.value for one in LogFormat]
    if log_format is not None and log_format not in known:
        raise ConfigError(f"--format is {log_format!r}; the formats are auto, {', '.join(known)}")
    chosen = None if log_format is None else LogFormat(log_format)
    table = None if columns is None else Columns.parse(columns)
    files = {str(file.relative_to(path.parent)): fingerprint(file) for file in _files(path)}
    return Source(name=path.resolve().name, read=lambda: read_log(path, chosen, table), files=files)


def _open(name: str, folder: Path | None) -> OpenedDataSet:
    dataset = find(name)
    if folder is None:
        raise ConfigError(f"data set {name} needs its files; give their folder with --data or VISTA_GUARD_DATA")
    return open_dataset(dataset, folder)


def _files(path: Path) -> list[Path]:
    """The log's files, as the reader finds them."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file() and SUFFIXES & set(file.suffixes))
