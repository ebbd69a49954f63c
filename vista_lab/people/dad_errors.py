"""Errors by hand, as in DAD's Tables 8 to 10: a sheet of units that some run has wrong, rows of the tables side by side.

Each unit has what every run made of it: verdict, claims with their support, the decomposer's steps, evidence and reasons. Its
cause is left to fill in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from vista_guard.errors import ConfigError
from vista_guard.types import Finding, Outcome
from vista_lab.metrics.units import JudgedUnit, support_of
from vista_lab.people.sheets import Field, Table, content
from vista_lab.runs.folder import TurnName
from vista_lab.systems.evidence import EVIDENCE, EVIDENCE_LINES, FoundEvidence
from vista_lab.tables.dad import Lines, Setting, UnitName, lines_of
from vista_lab.tables.runs import Measured

CAUSES = ("decomposition", "evidence", "annotation", "verifier", "several", "unclear")
"""Kinds of errors that App. F tells apart, and two for what is not one of them."""

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
"""Characters of a passage that are shown."""
MOST = 30_000
"""Characters of a cell: a spreadsheet holds 32,767."""


def write_errors(runs: Sequence[Measured], path: Path) -> int:
    """Writes the sheet, `.xlsx` or `.tsv`.

    Returns:
        The number of units in it.

    Raises:
        ConfigError: the file's ending is another, it cannot be written, or .xlsx needs the extra `evaluation`.
        InputError: the runs cannot be compared.
    """
    if path.suffix not in (".xlsx", ".tsv"):
        raise ConfigError(f"--errors is {path.name!r}; name a file that ends in .xlsx or .tsv")
    lines = lines_of(runs)
    own = [f"{name}: {what}" for name in lines for what in CELLS]
    columns = ["data set", "unit", "text", "gold", *own, "cause", "remarks"]
    table = Table("errors", columns, list(_rows(lines)), GUIDE)
    try:
        path.write_bytes(content(table, path.suffix))
    except OSError as exc:
        raise ConfigError(f"{path} cannot be written: {exc.strerror}") from exc
    return len(table.rows)


def _rows(lines: Lines) -> Iterator[list[str | Field]]:
    """Units with a wrong verdict in some row, or with none."""
    for data_set in dict.fromkeys(one.run.data_set for found in lines.values() for one in found.values()):
        columns = [
            next((one for one in found.values() if one.run.data_set == data_set), None) for found in lines.values()
        ]
        recorded = [{} if one is None else _recorded(one.run) for one in columns]
        names = dict.fromkeys(name for one in columns if one is not None for name in one.units)
        for name in names:
            units = [None if one is None else one.units.get(name) for one in columns]
            known = [unit for unit in units if unit is not None]
            if any(unit.predicted() is not unit.supported for unit in known):
                text = next((said for one in columns if one is not None and (said := _text(one, name))), "")
                own = [
                    cell for unit, known in zip(units, recorded, strict=True) for cell in _cells(unit, name[:2], known)
                ]
                gold = _verdict(known[0].supported)
                yield [data_set, "/".join(map(str, name)), text[:MOST], gold, *own, Field(menu=CAUSES), Field()]


def _text(one: Setting, name: UnitName) -> str:
    report, line = one.run.reports.get(name[:2]), one.run.gold[name[:2]]
    if report is None:
        return ""
    return line.places[name[2]].text(report.response) if line.places else report.response


def _recorded(run: Measured) -> Mapping[FoundKey, FoundEvidence]:
    """Evidence found for each claim, of a run with `--evidence`. A last line that is still being written is left out."""
    path = run.folder / EVIDENCE
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    found = (EVIDENCE_LINES.read(path, line, number) for number, line in enumerate(lines, 1) if line.endswith(b"\n"))
    return {line.key: line for line in found}


def _cells(unit: JudgedUnit | None, turn: TurnName, recorded: Mapping[FoundKey, FoundEvidence]) -> list[str]:
    if unit is None:
        return [""] * len(CELLS)
    evidence = [
        f"[{n}] {text[:PASSAGE]}"
        for n, one in enumerate(unit.outcomes, 1)
        for text in _evidence(one, recorded.get((*turn, one.claim.text)))
    ]
    reasons = [
        f"[{n}] {one.reason if isinstance(one, Finding) else one.error}" for n, one in enumerate(unit.outcomes, 1)
    ]
    claims = [f"[{n}] {_claim(one)}" for n, one in enumerate(unit.outcomes, 1)]
    steps = [f"[{n}] {one.claim.steps}" for n, one in enumerate(unit.outcomes, 1) if one.claim.steps]
    return [_verdict(unit.predicted()), *("\n".join(some)[:MOST] for some in (claims, steps, evidence, reasons))]


def _claim(outcome: Outcome) -> str:
    said = f"{outcome.label} {support_of(outcome):.2f}" if isinstance(outcome, Finding) else "UNCHECKED"
    return f"{said}: {outcome.claim.text}"


def _evidence(outcome: Outcome, found: FoundEvidence | None) -> list[str]:
    """The quotes that decided, and else all that the claim was held against."""
    quotes = [piece.quote for piece in outcome.evidence] if isinstance(outcome, Finding) else []
    return quotes or ([passage.text for passage in found.passages] if found is not None else [])


def _verdict(supported: bool | None) -> str:
    return "not judged" if supported is None else "SUPPORTED" if supported else "NOT SUPPORTED"
