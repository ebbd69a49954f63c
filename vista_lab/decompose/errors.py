"""Error analysis by hand, as in DAD's Tables 8 to 10: a sheet of units that some run has wrong, runs side by side.

Each unit has every run's output: verdict, claims with their support, the decomposer's steps, evidence and reasons. Annotators
fill in the cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from vista_guard.errors import ConfigError
from vista_guard.types import Finding, Outcome
from vista_lab.annotate.sheets import Field, Table, content
from vista_lab.decompose.tables import Lines, Setting, UnitName, lines_of
from vista_lab.decompose.units import JudgedUnit, support_of
from vista_lab.files import writing
from vista_lab.runs.folder import TurnName
from vista_lab.systems.evidence import EVIDENCE, EVIDENCE_LINES, FoundEvidence
from vista_lab.tables.runs import RunMeasures

CAUSES = ("decomposition", "evidence", "annotation", "verifier", "several", "unclear")
"""The kinds of errors of App. F, and two more for the rest."""

GUIDE = (
    "Each row is a sentence, a few sentences or a response that at least one run has wrong. Read the claims and their evidence. "
    "decomposition: a claim is missing, distorted, not clear by itself, or too coarse. evidence: what would decide is not among "
    "the passages. annotation: the gold can be doubted. verifier: it misjudged a good claim that the evidence decides."
)

CELLS = ("verdict", "claims", "steps", "evidence", "reasons")
"""Columns of a unit, for each run; steps are those of `decomposer_options.keep_steps`."""

FoundKey = tuple[str, int, str]
"""Conversation, turn and the claim's text."""

PASSAGE = 1_000
"""Most characters of a passage in a cell."""
MOST = 30_000
"""Most characters of a cell: a spreadsheet holds 32,767."""


def write_errors(runs: Sequence[RunMeasures], path: Path) -> int:
    """Writes the sheet, `.xlsx` or `.tsv`.

    Returns:
        The number of units in it.

    Raises:
        ConfigError: the file has another suffix, it cannot be written, or .xlsx needs the extra `evaluation`.
        InputError: the runs cannot be compared.
    """
    if path.suffix not in (".xlsx", ".tsv"):
        raise ConfigError(f"--errors is {path.name!r}; name a file that ends in .xlsx or .tsv")
    lines = lines_of(runs)
    own = [f"{name}: {what}" for name in lines for what in CELLS]
    columns = ["data set", "unit", "text", "gold", *own, "cause", "remarks"]
    table = Table("errors", columns, list(_rows(lines)), GUIDE)
    with writing(path, ""):
        path.write_bytes(content(table, path.suffix))
    return len(table.rows)


def _rows(lines: Lines) -> Iterator[list[str | Field]]:
    for data_set in dict.fromkeys(setting.run.data_set for settings in lines.values() for setting in settings.values()):
        known = ((one for one in settings.values() if one.run.data_set == data_set) for settings in lines.values())
        columns = [next(settings, None) for settings in known]
        recorded = [{} if setting is None else _read_evidence(setting.run) for setting in columns]
        names = dict.fromkeys(name for setting in columns if setting is not None for name in setting.units)
        for name in names:
            units = [None if setting is None else setting.units.get(name) for setting in columns]
            judged = [unit for unit in units if unit is not None]
            if any(unit.predicted() is not unit.supported for unit in judged):
                text = next((said for setting in columns if setting is not None and (said := _text(setting, name))), "")
                both = zip(units, recorded, strict=True)
                own = [cell for unit, found in both for cell in _cells(unit, name[:2], found)]
                gold = _verdict(judged[0].supported)
                yield [data_set, "/".join(map(str, name)), text[:MOST], gold, *own, Field(menu=CAUSES), Field()]


def _text(setting: Setting, name: UnitName) -> str:
    report, line = setting.run.reports.get(name[:2]), setting.run.gold[name[:2]]
    if report is None:
        return ""
    return line.places[name[2]].text(report.response) if line.places else report.response


def _read_evidence(run: RunMeasures) -> Mapping[FoundKey, FoundEvidence]:
    """Evidence found for each claim of a run with `--evidence`. A last line that is still being written is left out."""
    path = run.folder / EVIDENCE
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    records = (EVIDENCE_LINES.read(path, line, number) for number, line in enumerate(lines, 1) if line.endswith(b"\n"))
    return {line.key: line for line in records}


def _cells(unit: JudgedUnit | None, turn: TurnName, recorded: Mapping[FoundKey, FoundEvidence]) -> list[str]:
    if unit is None:
        return [""] * len(CELLS)
    found = [_evidence(outcome, recorded.get((*turn, outcome.claim.text))) for outcome in unit.outcomes]
    evidence = [f"[{n}] {text[:PASSAGE]}" for n, texts in enumerate(found, 1) for text in texts]
    why = (outcome.reason if isinstance(outcome, Finding) else outcome.error for outcome in unit.outcomes)
    reasons = [f"[{n}] {reason}" for n, reason in enumerate(why, 1)]
    claims = [f"[{n}] {_claim(outcome)}" for n, outcome in enumerate(unit.outcomes, 1)]
    steps = [f"[{n}] {outcome.claim.steps}" for n, outcome in enumerate(unit.outcomes, 1) if outcome.claim.steps]
    return [_verdict(unit.predicted()), *("\n".join(column)[:MOST] for column in (claims, steps, evidence, reasons))]


def _claim(outcome: Outcome) -> str:
    verdict = f"{outcome.label} {support_of(outcome):.2f}" if isinstance(outcome, Finding) else "UNCHECKED"
    return f"{verdict}: {outcome.claim.text}"


def _evidence(outcome: Outcome, found: FoundEvidence | None) -> list[str]:
    """The quotes that decided, else all passages that the claim was checked against."""
    quotes = [piece.quote for piece in outcome.evidence] if isinstance(outcome, Finding) else []
    return quotes or ([passage.text for passage in found.passages] if found is not None else [])


def _verdict(supported: bool | None) -> str:
    return "not judged" if supported is None else "SUPPORTED" if supported else "NOT SUPPORTED"
