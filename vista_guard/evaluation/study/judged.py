"""Runs held against a study: the data sets' labels on one side, the consensus on the other (VISTA, Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from vista_guard.errors import InputError
from vista_guard.evaluation.study.labelled import LOG
from vista_guard.evaluation.study.records import Material, StudyTurn
from vista_guard.evaluation.study.settling import SettledTurn
from vista_lab.runs.folder import GoldLine, TurnName
from vista_lab.tables.output import find_folders
from vista_lab.tables.runs import Measured, read_measured


def measured(places: Sequence[Path], settled: Sequence[SettledTurn], material: Material) -> list[Measured]:
    """Runs over the study's data sets, or over its consensus as a log, with both kinds of gold, and of no other turns.

    Raises:
        ConfigError: a folder is no run.
        InputError: a run judged none of the turns that have a label of their data set and a consensus.
    """
    both = [(one, material.turns[one.turn.id]) for one in settled if one.settled]
    known = [(one, turn) for one, turn in both if turn.positive is not None and one.claims]
    if not known:
        raise InputError("no turn has a label of its data set and a consensus: there is nothing to hold runs against")
    return [_held(read_measured(folder, name), known) for name, folder in find_folders(places).items()]


def _held(run: Measured, known: Sequence[tuple[SettledTurn, StudyTurn]]) -> Measured:
    gold = {_place(turn, run): _gold(one, turn, run) for one, turn in known if run.data_set in (LOG, turn.data_set)}
    kept: Mapping[TurnName, GoldLine] = {name: line for name, line in gold.items() if name in run.gold}
    if not kept:
        raise InputError(
            f"{run.name} is of {run.data_set}, and judged no turn with a label of its data set and a consensus; give runs "
            f"over the study's data sets, or over {LOG}"
        )
    reports = {name: report for name, report in run.reports.items() if name in kept}
    return replace(run, gold=kept, reports=reports)


def _place(turn: StudyTurn, run: Measured) -> TurnName:
    return (turn.conversation_id if run.data_set == turn.data_set else turn.talk), turn.turn_index


def _gold(one: SettledTurn, turn: StudyTurn, run: Measured) -> GoldLine:
    talk, index = _place(turn, run)
    claims = {f"t{index}.c{number}": claim.label for number, claim in enumerate(one.claims, 1)}
    return GoldLine(conversation_id=talk, turn_index=index, label=turn.label, positive=turn.positive, claims=claims)
