"""Which conversations a study is of: so many of each data set by a seed, some for what a run found in them (VISTA, §5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vista_guard import __version__
from vista_guard.errors import ConfigError, InputError
from vista_guard.evaluation.study.records import Material, Study, StudySet, StudyTurn
from vista_guard.stores.reviews.queue import person
from vista_guard.types import Conversation, Label, Role, TurnReport
from vista_lab.logs.source import LoggedConversation
from vista_lab.runs.folder import MANIFEST, REPORTS, TurnName, read_manifest, read_reports
from vista_lab.runs.plan import Source, sampled


@dataclass(frozen=True)
class Judged:
    """A run's reports by place, and which data it says that it judged: None where a file of reports does not say."""

    name: str
    reports: Mapping[TurnName, TurnReport]
    data_set: str | None = None
    files: Mapping[str, str] | None = None

    @property
    def judge(self) -> str:
        """Who judged."""
        return next((one.judge.name for one in self.reports.values()), "nobody")


@dataclass(frozen=True)
class Wish:
    """What is asked of a study. `each` is how many conversations a data set gives, all when None; `enrich` how many of them are
    chosen because the run gave a claim in them that label. `shown`: annotators see the run's labels."""

    annotators: Sequence[str]
    each: Sequence[int | None] = (None,)
    enrich: Mapping[Label, int] | None = None
    seed: int = 0
    shown: bool = False


def read_judged(path: Path) -> Judged:
    """A folder that `vista-guard eval` wrote, or a file of reports.

    Raises:
        ConfigError: the folder is no run.
        InputError: a file cannot be read, or holds two reports on one turn.
    """
    manifest = read_manifest(path) if path.is_dir() or (path / MANIFEST).exists() else None
    found: dict[TurnName, TurnReport] = {}
    for report in read_reports(path if manifest is None else path / REPORTS):
        name = (report.conversation_id or "", report.turn_index)
        if name in found:
            raise InputError(f"{path} has two reports on turn {name[1]} of conversation {name[0]}")
        found[name] = report
    if manifest is None:
        return Judged(path.name, found)
    return Judged(path.resolve().name, found, manifest.rows.name, manifest.rows.files)


def draw(sources: Sequence[Source], runs: Sequence[Judged], wish: Wish) -> Material:
    """The study that is asked for.

    Claims are the run's where there is one, else the log's own: then turns without any are left out.

    Raises:
        ConfigError: the wish makes no sense: names, numbers, labels to look for without a run.
        InputError: a run is of other data, a source has fewer conversations than asked for, or none with claims.
    """
    names = _annotators(wish.annotators)
    twice = next((name for name, n in Counter(source.name for source in sources).items() if n > 1), None)
    if twice is not None:
        raise ConfigError(
            f"two data sets or logs are named {twice}: runs and turns could not be told apart; rename one"
        )
    each = list(wish.each) * len(sources) if len(wish.each) == 1 else list(wish.each)
    if len(each) != len(sources):
        raise ConfigError(
            f"--sample has {len(each)} numbers, and there are {len(sources)} data sets: give one, or as many"
        )
    drawn = [
        _drawn(source, _run_of(source, runs, only=len(sources) == 1), count, wish)
        for source, count in zip(sources, each, strict=True)
    ]
    _check_used(runs, drawn)
    turns, talks, reports = _numbered(drawn)
    study = Study(
        made_by=f"vista-guard {__version__}",
        annotators=names,
        seed=wish.seed,
        shown=wish.shown,
        sets=tuple(one.told for one in drawn),
        turns=tuple(turns),
    )
    return Material(study, talks, reports)


def _annotators(given: Sequence[str]) -> tuple[str, ...]:
    names = tuple(person(name) for name in given)
    # A name is a file's, and on some disks letters of both cases are one.
    odd = next((name for name in names if not name.replace("-", "").replace("_", "").isalnum()), None)
    if odd is not None:
        raise ConfigError(f"annotator {odd!r}: a sheet is named after them; use letters, digits, - and _")
    if len({name.casefold() for name in names}) != len(names) or not names or "discuss" in names:
        raise ConfigError(f"--annotators is {','.join(given)!r}; give each a name of their own, such as ada,ben,cleo")
    return names


@dataclass(frozen=True)
class _Candidate:
    entry: LoggedConversation
    turns: Sequence[StudyTurn]
    reports: Sequence[TurnReport]

    @property
    def name(self) -> str:
        return str(self.entry.conversation.id)

    def has(self, label: Label) -> bool:
        return any(label in turn.found.values() for turn in self.turns)


@dataclass(frozen=True)
class _Drawn:
    told: StudySet
    run: Judged | None
    chosen: Sequence[_Candidate]


def _run_of(source: Source, runs: Sequence[Judged], *, only: bool) -> Judged | None:
    found = [run for run in runs if run.data_set == source.name or (run.data_set is None and only)]
    if len(found) > 1:
        raise ConfigError(
            f"{found[0].name} and {found[1].name} are both of {source.name}; claims come from one run: give one"
        )
    for run in found:
        changed = [name for name, sha in source.files.items() if run.files is not None and run.files.get(name) != sha]
        if changed:
            raise InputError(f"run {run.name} judged another {changed[0]} than the one here; run it anew on this file")
    return found[0] if found else None


def _check_used(runs: Sequence[Judged], drawn: Sequence[_Drawn]) -> None:
    unused = next((run for run in runs if all(one.run is not run for one in drawn)), None)
    if unused is not None:
        of = unused.data_set or "a log that it does not name"
        names = ", ".join(one.told.name for one in drawn)
        raise InputError(f"run {unused.name} is of {of}, and the study is of {names}; give the data that it judged")


def _drawn(source: Source, run: Judged | None, count: int | None, wish: Wish) -> _Drawn:
    if run is None and (wish.enrich or wish.shown):
        raise ConfigError(f"enriching and showing labels need a run over {source.name}: give its folder with --run")
    found = list(_candidates(source, run))
    if not found:
        raise InputError(_nothing(source, run))
    if count is not None and count > len(found):
        raise InputError(
            f"{source.name} has {len(found):,} conversations with claims; a sample of {count:,} cannot be drawn"
        )
    rare = _rare(found, wish, source.name)
    chosen = {one.name for group in rare.values() for one in group}
    size = len(found) if count is None else count
    if len(chosen) > size:
        raise ConfigError(f"{len(chosen)} conversations of {source.name} are to be chosen, and {size} drawn in all")
    others = tuple(one.name for one in found if one.name not in chosen)
    chosen |= set(sampled(others, size - len(chosen), wish.seed))
    told = StudySet(
        name=source.name,
        files=source.files,
        conversations=len(chosen),
        of=len(found),
        # Where all are taken nothing was chosen.
        enriched={label: len(group) for label, group in rare.items() if group} if size < len(found) else {},
        run=run and run.name,
        judge=run and run.judge,
    )
    return _Drawn(told, run, [one for one in found if one.name in chosen])


def _rare(found: Sequence[_Candidate], wish: Wish, name: str) -> Mapping[Label, Sequence[_Candidate]]:
    """Conversations chosen for their labels. One that has two of the labels is chosen for one only."""
    taken: set[str] = set()
    rare: dict[Label, Sequence[_Candidate]] = {}
    for label, count in (wish.enrich or {}).items():
        having = [one for one in found if one.has(label) and one.name not in taken]
        if len(having) < count:
            raise InputError(
                f"the run found {label} in {len(having)} more conversations of {name}; {count} cannot be chosen"
            )
        names = set(sampled(tuple(one.name for one in having), count, wish.seed))
        rare[label] = [one for one in having if one.name in names]
        taken |= names
    return rare


def _candidates(source: Source, run: Judged | None) -> Iterator[_Candidate]:
    names: set[str] = set()
    for entry in source.read():
        if not isinstance(entry, LoggedConversation):
            continue
        name = str(entry.conversation.id)
        if name in names:
            raise InputError(f"{source.name} has two conversations with the id {name!r}; turns could not be told apart")
        names.add(name)
        reports = [] if run is None else [
            run.reports[name, place] for place in range(len(entry.conversation.turns)) if (name, place) in run.reports
        ]  # fmt: skip
        turns = (
            list(_given(source.name, entry)) if run is None else [_judged(source.name, entry, one) for one in reports]
        )
        if turns:
            yield _Candidate(entry, turns, reports)


def _given(name: str, entry: LoggedConversation) -> Iterator[StudyTurn]:
    for place, turn in enumerate(entry.conversation.turns):
        if turn.role is Role.ASSISTANT and turn.claims:
            yield _turn(name, entry, place, claims=turn.claims)


def _judged(name: str, entry: LoggedConversation, report: TurnReport) -> StudyTurn:
    # Code and text that no reader can read are no claims.
    claims = tuple(one.claim for one in report.outcomes if one.kind == "finding" or one.what == "claim")
    labels = {finding.claim.id: finding.label for finding in report.findings}
    return _turn(name, entry, report.turn_index, claims=claims, found=labels, report_id=report.id)


def _turn(name: str, entry: LoggedConversation, place: int, **known: object) -> StudyTurn:
    said, talk = entry.gold.get(place), str(entry.conversation.id)
    word = {} if said is None else {"label": said.label, "positive": said.positive}
    fields = {"id": "", "data_set": name, "talk": talk, "conversation_id": talk, "turn_index": place}
    return StudyTurn.model_validate({**fields, **word, **known})


def _numbered(
    drawn: Sequence[_Drawn],
) -> tuple[list[StudyTurn], dict[str, Conversation], dict[str, TurnReport]]:
    """Turns with the ids that they have in sheets, conversations by a name that no other has, reports with that name."""
    turns: list[StudyTurn] = []
    talks: dict[str, Conversation] = {}
    reports: dict[str, TurnReport] = {}
    for number, (name, one) in enumerate(((each.told.name, one) for each in drawn for one in each.chosen), 1):
        talk = one.name
        while talk in talks:
            talk = f"{name}-{talk}"
        talks[talk] = one.entry.conversation.model_copy(update={"id": talk})
        for turn in one.turns:
            turns.append(turn.model_copy(update={"id": f"c{number:03}.t{turn.turn_index}", "talk": talk}))
        told = {report.turn_index: report for report in one.reports}
        reports |= {
            turn.id: told[turn.turn_index].model_copy(update={"conversation_id": talk})
            for turn in turns[-len(one.turns) :]
            if turn.turn_index in told
        }
    return turns, talks, reports


def _nothing(source: Source, run: Judged | None) -> str:
    if run is not None:
        return f"run {run.name} has no report on a conversation of {source.name}; give the data that it judged"
    return (
        f"{source.name} has no turn with claims of its own; judge it first (vista-guard eval … --out FOLDER) and give the folder "
        "with --run"
    )
