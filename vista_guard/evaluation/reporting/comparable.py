"""Which runs may stand in one table, and how each is named there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

from vista_guard.errors import InputError
from vista_guard.evaluation.comparing.runs import Run, why_not_comparable
from vista_guard.evaluation.reporting.measured import Measured
from vista_guard.evaluation.runners.manifest import Manifest


def check_comparable(runs: Sequence[Measured]) -> None:
    """Passes where runs on one data set can be compared.

    Raises:
        InputError: two of them are of other files, other gold, other claims, of no common turn, or of the same system; says which
            and why.
    """
    for first, second in combinations(runs, 2):
        if first.data_set == second.data_set:
            why = _why_not(first, second)
            if why is not None:
                raise InputError(f"these two runs cannot be compared: {why}")


def names_of(runs: Sequence[Measured]) -> Mapping[str, str]:
    """How the row of each run is called, by the run's name: by its judge, and by what else tells it from others of its system."""
    alike: dict[tuple[str, str, str], list[Measured]] = defaultdict(list)
    for run in runs:
        alike[run.data_set, run.system, run.judge].append(run)
    found = {}
    for group in alike.values():
        made = [_made(run) for run in group]
        differing = sorted({key for one in made for key in one if len({other.get(key) for other in made}) > 1})
        for run, one in zip(group, made, strict=True):
            told = ", ".join(one[key] for key in differing if key in one)
            found[run.name] = f"{run.judge} ({told})" if told else run.judge
    return found


def notes_of(runs: Sequence[Measured]) -> list[str]:
    """What has to be said of runs wherever their figures stand: what they are of, what is missing, what was not judged."""
    found = []
    for name in dict.fromkeys(run.data_set for run in runs):
        rows = next(run.manifest.rows for run in runs if run.data_set == name)
        split = f"{rows.split}, a test set: choose nothing by it" if rows.test else rows.split
        skipped = sum(rows.skipped.values())
        drawn = ", ".join(
            dict.fromkeys(_drawn(run.manifest) for run in runs if run.data_set == name and run.manifest.limit)
        )
        split = f"{split}; {drawn}" if drawn else split
        told = [f"{name} ({split})", rows.sample, f"{skipped:,} rows could not be read" if skipped else ""]
        found.append(
            ": ".join([told[0], "; ".join(part for part in told[1:] if part) or "no word on the paper's rows"])
        )
    for run in runs:
        if not run.complete:
            done, all_of_it = len(run.reports), run.manifest.rows.turns
            found.append(f"{run.name} is not complete: {done:,} of {all_of_it:,} turns are reported")
        met = run.detection(run.reading)
        if met is not None and met.unchecked:
            found.append(
                f"{run.name}: {met.unchecked:,} of {met.turns:,} turns were not judged; accuracy is of the others, and "
                f"{100 * met.worst.value:.2f} if all of these were wrong"
            )
    return found


def _why_not(first: Measured, second: Measured) -> str | None:
    """Why not; None where they can."""
    files, others = first.manifest.rows.files, second.manifest.rows.files
    changed = next((name for name in sorted(files.keys() | others.keys()) if files.get(name) != others.get(name)), None)
    if changed is not None:
        return (
            f"{first.name} and {second.name} are of {first.data_set}, and {changed} was not the same file (sha256 "
            f"{files.get(changed, 'none')[:12]} and {others.get(changed, 'none')[:12]}). Run one of them anew"
        )
    if _made(first) == _made(second) and first.system == second.system:
        return f"{first.name} and {second.name} are of the same system on {first.data_set}. Give one of them"
    return why_not_comparable(_as_run(first), _as_run(second)) or _other_gold(first, second)


def _other_gold(first: Measured, second: Measured) -> str | None:
    for name in sorted(first.gold.keys() & second.gold.keys()):
        if first.gold[name] != second.gold[name]:
            where = f"turn {name[1]} of conversation {name[0]}"
            return f"{where} has other gold in {first.name} than in {second.name}: the data set is read in another way"
    return None


def _as_run(run: Measured) -> Run:
    return Run(run.name, run.manifest, run.reports)


def _drawn(made: Manifest) -> str:
    return f"{len(made.rows.conversations):,} conversations drawn by seed {made.seed}"


def _made(run: Measured) -> dict[str, str]:
    """What may differ between two runs of one system and judge: settings, and which conversations were chosen."""
    made = run.manifest
    limit = "" if made.limit is None else _drawn(made)
    known = {"judge": made.system.judge.name, "version": made.system.judge.version, "limit": limit}
    options = {f"option {name}": f"{name} {value}" for name, value in made.system.options.items()}
    return {key: value for key, value in {**known, **options}.items() if value}
