"""The plan of a run over a data set or a log, made before anything is judged.

Readable rows, a sample of them, and their gold.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from vista_guard.errors import ConfigError, InputError
from vista_lab.datasets.files import fingerprint
from vista_lab.datasets.opening import OpenedDataSet, open_dataset, reason
from vista_lab.datasets.published.describing import PART
from vista_lab.datasets.registry import all_datasets, find
from vista_lab.logs.formats import Columns, named, read_log
from vista_lab.logs.notes import ReadingNotes
from vista_lab.logs.roles import parse_roles
from vista_lab.logs.source import SUFFIXES, BrokenEntry, LoggedConversation, Task
from vista_lab.runs.folder import GoldLine, Rows
from vista_lab.runs.loop import ClaimsMode, Entry, prepare, wanted_turns
from vista_lab.systems.baselines import fit

REASONS = 50
"""Most reasons for skipped rows in a manifest; further ones are counted together."""
MORE = "other reasons"
LOG = "log"
"""Split of a log, which has none."""


@dataclass(frozen=True)
class Source:
    """A data set or a log, ready to be read more than once.

    `files` has the sha256 of the unzipped bytes by name. `read` yields all rows, the same at every call.
    """

    name: str
    read: Callable[[], Iterator[Entry]]
    files: Mapping[str, str]
    split: str = LOG
    task: Task = Task.UNVERIFIABLE
    test: bool = False
    sample: str = ""
    retrieves: bool = False
    """True if turns without documents are checked against those of `vista-guard documents add`, as in every log."""

    def heard(self, notes: ReadingNotes) -> Source:
        """The same source, which takes notes while it is read."""
        return replace(self, read=lambda: notes.listening(self.read()))

    @property
    def is_log(self) -> bool:
        """True for a user's own log, False for a data set with a split."""
        return self.split == LOG


@dataclass(frozen=True)
class Plan:
    """The turns that a run will judge. `gold` has a line for each turn to be reported."""

    source: Source
    rows: Rows
    gold: tuple[GoldLine, ...]
    silent: int = 0
    """Readable conversations without a turn to judge."""
    notes: ReadingNotes = field(default_factory=ReadingNotes)
    """What the reader could not read, left out, and took labels for."""

    def entries(self) -> Iterator[LoggedConversation]:
        """The chosen conversations, in their order."""
        chosen = frozenset(self.rows.conversations)
        for entry in self.source.read():
            if isinstance(entry, LoggedConversation) and str(entry.conversation.id) in chosen:
                yield entry


def make_plan(source: Source, claims: ClaimsMode, *, limit: int | None = None, seed: int = 0) -> Plan:
    """Reads all rows once, and samples `limit` of the conversations with turns to judge (all when None).

    With GIVEN claims, conversations without any are left out. With the same seed, a larger limit contains the sample of a
    smaller one. Raises InputError if two conversations have the same id, or nothing is left to judge.
    """
    skipped: Counter[str] = Counter()
    notes = ReadingNotes()
    turns: dict[str, tuple[GoldLine, ...]] = {}
    grounded: dict[str, int] = {}
    silent = 0
    for entry in source.heard(notes).read():
        if isinstance(entry, BrokenEntry):
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
        raise InputError(_why_empty(source, claims, skipped, notes.unread))
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
    return Plan(source, rows, gold, silent, notes)


def sample_names(names: tuple[str, ...], limit: int | None, seed: int) -> tuple[str, ...]:
    """Samples names and keeps their order; a hash with the seed makes samples of the same seed nested."""
    if limit is None or limit >= len(names):
        return names
    chosen = set(sorted(names, key=lambda name: sha256(f"{seed}\0{name}".encode()).digest())[:limit])
    return tuple(name for name in names if name in chosen)


def gold_lines(entry: LoggedConversation, claims: ClaimsMode) -> tuple[GoldLine, ...]:
    """The gold of each turn to report, in order. It keeps people's labels also if the judge makes its own claims."""
    lines = []
    for index in sorted(wanted_turns(prepare(entry, claims), claims)):
        gold, brought = entry.gold.get(index), entry.conversation.turns[index].claims or ()
        labels = {claim.id: entry.labels[claim.id] for claim in brought if claim.id in entry.labels}
        lines.append(
            GoldLine(
                conversation_id=str(entry.conversation.id),
                turn_index=index,
                label=None if gold is None else gold.label,
                positive=None if gold is None else gold.positive,
                claims=labels,
                unlabelled=len(brought) - len(labels),
                group="" if gold is None else gold.group,
                places=() if gold is None else gold.places,
                part="" if gold is None else gold.part,
            )
        )
    return tuple(lines)


def _why_empty(source: Source, claims: ClaimsMode, skipped: Counter[str], broken: Sequence[BrokenEntry]) -> str:
    if skipped:
        # The first row's error has the value, which a reason leaves out.
        why = f"{source.name}: none of {skipped.total():,} rows can be read; the first, {broken[0].source}: {broken[0].error}"
        reason, count = skipped.most_common(1)[0]
        return why if len(skipped) == 1 else f"{why}; {count:,} of them: {reason}"
    if claims is ClaimsMode.GIVEN:
        return f"{source.name}: no turn carries claims; evaluate it with --claims judge"
    return f"{source.name} is empty: it has no assistant turn"


def source_of(data: str, folder: Path | None, log_format: str, columns: str | None, roles: str | None = None) -> Source:
    """The data set of this name, else the log at this path: `./fade` is a file or folder, `fade` a data set.

    Raises ConfigError, InputError: as `of_dataset` and `of_log`; or the data set has questions alone.
    """
    known = all_datasets().get(data.partition(PART)[0])
    if known is not None and known.answered_by and not Path(data).exists():
        raise InputError(f"{data} has questions and no answers; have an assistant answer: {known.answered_by} {data}")
    if known is None:
        if Path(data).exists():
            return of_log(Path(data), None if log_format == "auto" else log_format, columns, roles)
        if Path(data).suffix or "/" in data:
            raise InputError(f"log {data} does not exist; give a file, or a data set's name from vista-guard datasets")
    return of_dataset(data, folder)


def of_dataset(name: str, folder: Path | None) -> Source:
    """A data set by its name in `vista-guard datasets`, with its files in the folder or below.

    Raises ConfigError if no folder is given; InputError if the data set is unknown, or a file of it is missing: names the file
    and its source.
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
    """Options of a system (`majority` or `overlap`), fitted on a data set other than the measured one.

    Raises ConfigError if no folder is given, or the data set must not be used for fitting: see `systems.baselines.fit`;
    InputError if the data set is unknown, or a file of it is missing.
    """
    opened = _open(name, folder)
    return fit(system, opened.dataset, opened.entries(), measured=measured, claims=claims.value)


def of_log(path: Path, log_format: str | None = None, columns: str | None = None, roles: str | None = None) -> Source:
    """A log: a file, or a folder of files, in the named format (detected when None); `columns` maps a table's
    columns, `roles` names of speakers, as the options do.

    Raises ConfigError if the format or a map is invalid; InputError if the file cannot be read.
    """
    chosen = None if log_format is None else named(log_format)
    table = None if columns is None else Columns.parse(columns)
    named_roles = None if roles is None else parse_roles(roles)
    files = {str(file.relative_to(path.parent)): fingerprint(file) for file in _files(path)}
    return Source(name=path.resolve().name, read=lambda: read_log(path, chosen, table, roles=named_roles), files=files)


def _open(name: str, folder: Path | None) -> OpenedDataSet:
    dataset = find(name)
    if folder is None:
        raise ConfigError(f"data set {name} needs its files; give their folder with --data or VISTA_GUARD_DATA")
    return open_dataset(dataset, folder)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file() and SUFFIXES & set(file.suffixes))
