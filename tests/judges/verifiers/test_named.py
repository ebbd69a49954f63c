"""Verifiers named in settings, composed and calibrated, from the settings to the report."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.judges.verifiers import tiny
from tests.judges.verifiers.test_local import nli
from tests.raising import raises
from vista_guard import ConfigError, Guard, Label, TurnReport
from vista_guard.inference.weights import WEIGHTS
from vista_guard.judges.verifiers import VerifierCalibration, build_verifier
from vista_guard.judges.verifiers.calibrated import FittedOn, Thresholds, apply_temperature
from vista_guard.judges.verifiers.named import SplitVerifier, VetoedVerifier
from vista_guard.settings.model import VerifierOptions
from vista_guard.testing import ScriptedJudge, assistant, conversation

HALL, RIGHT = "The tide hall opened in 1925.", "The hall opened in the year 1925."


class Fixed:
    """Says the same of every pair."""

    def __init__(self, *row: float, name: str = "fixed") -> None:
        self.name = name
        self._row = row

    def probabilities(self, pairs: object) -> NDArray[np.float32]:
        return np.array([self._row for _ in pairs], np.float32)  # type: ignore[attr-defined]  # a sequence


def check(**settings: Any) -> TurnReport:
    with Guard.from_settings(policy="monitor", store="memory", **settings) as guard:
        return guard.check(conversation(assistant(RIGHT, HALL)))


def calibration(
    verifier: str, *, supported: float = 0.5, contradicted: float = 0.9, heat: float = 1.0
) -> VerifierCalibration:
    fitted = FittedOn(name="own", documents=2, claims=4, day=date(2026, 1, 2), supported_or_not=0.75)
    thresholds = Thresholds(supported=supported, contradicted=contradicted)
    return VerifierCalibration(verifier=verifier, temperature=heat, thresholds=thresholds, fitted_on=fitted)


def test_a_folder_named_in_the_settings_verifies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = nli(tmp_path / "mine", {"0": "entailment", "1": "neutral"}, 2)
    numbers = np.zeros((tiny.SIZE, 2), np.float32)
    numbers[tiny.VOCABULARY["1925"], 0] = 4.0
    tiny.write_graph(folder / "model.onnx", numbers)
    report = check(verifier=folder)
    assert (report.findings[0].label, report.judge.version.partition("+")[2]) == (Label.VERIFIED, "mine")
    monkeypatch.setenv("VISTA_GUARD_VERIFIER", str(folder))
    assert check().judge == report.judge
    file = tmp_path / "vista-guard.toml"
    file.write_text(
        f'verifier = "{folder}"\n[verifier_options]\nlabels = ["not_enough", "supported"]\n', encoding="utf-8"
    )
    monkeypatch.delenv("VISTA_GUARD_VERIFIER")
    monkeypatch.setenv("VISTA_GUARD_CONFIG", str(file))
    assert check().findings[0].label is Label.LACKING_EVIDENCE


def test_an_object_verifies_and_is_named_in_the_report() -> None:
    report = check(verifier=Fixed(0.9, 0.0, 0.1))
    assert (report.findings[0].label, report.judge.version.partition("+")[2]) == (Label.VERIFIED, "fixed")
    assert check(verifier=Fixed(0.1, 0.0, 0.9)).findings[0].label is Label.LACKING_EVIDENCE


def test_shipped_is_what_judges_without_a_name() -> None:
    assert check(verifier="shipped").judge == check().judge


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"verifier": "nowhere"}, ("verifier", "nowhere")),
        ({"verifier": "hf:nobody"}, ("verifier", "hf:nobody")),
        ({"verifier": "veto:shipped"}, ("verifier", "veto:shipped")),
        ({"verifier": "veto:shipped,veto:shipped,shipped"}, ("verifier", "veto:shipped,veto:shipped,shipped")),
        (
            {"verifier": "shipped", "judge": "openai:m@http://127.0.0.1:9/v1"},
            ("judge", "openai:m@http://127.0.0.1:9/v1"),
        ),
        ({"verifier": Fixed(1, 0, 0), "judge": ScriptedJudge({})}, ("judge", "verifier")),
        ({"verifier_options": {"familiy": "nli"}}, ("familiy",)),
    ],
)
def test_what_cannot_be_is_said(settings: dict[str, Any], named: tuple[str, ...]) -> None:
    with raises(ConfigError, *named):
        Guard.from_settings(store="memory", **settings)


def test_a_veto_takes_away_support_and_nothing_else() -> None:
    both = VetoedVerifier(Fixed(0.7, 0.2, 0.1, name="a"), Fixed(0.4, 0.0, 0.6, name="b"))
    assert np.allclose(both.probabilities([("e", "c")]), [[0.4, 0.2, 0.4]])
    assert both.name == "veto:a,b"
    agreeing = VetoedVerifier(Fixed(0.7, 0.2, 0.1), Fixed(0.9, 0.0, 0.1))
    assert np.allclose(agreeing.probabilities([("e", "c")]), [[0.7, 0.2, 0.1]])


def test_a_split_lets_another_verifier_say_what_is_contradicted() -> None:
    both = SplitVerifier(Fixed(0.4, 0.0, 0.6), Fixed(0.5, 0.3, 0.2))
    assert np.allclose(both.probabilities([("e", "c")]), [[0.4, 0.36, 0.24]])
    assert np.allclose(SplitVerifier(Fixed(0.4, 0, 0.6), Fixed(1, 0, 0)).probabilities([("e", "c")]), [[0.4, 0.0, 0.6]])


def test_two_verifiers_in_one_name(tmp_path: Path) -> None:
    folder = nli(tmp_path / "mine", {"0": "entailment", "1": "neutral"}, 2)
    pair = [(HALL, RIGHT)]
    alone = build_verifier(folder).verifier.probabilities(pair)
    shipped = build_verifier(None).verifier.probabilities(pair)
    vetoed = build_verifier(f"veto:shipped,{folder}").verifier
    assert vetoed.name == "veto:shipped,mine"
    assert vetoed.probabilities(pair)[0, 0] == pytest.approx(min(alone[0, 0], shipped[0, 0]))
    with pytest.raises(ConfigError):
        build_verifier(f"veto:{folder},{folder}", VerifierOptions(family="nli"))


def test_a_calibration_sets_temperature_and_thresholds(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    calibration("fixed", supported=0.95).save(file)
    strict = check(verifier=Fixed(0.9, 0.0, 0.1), verifier_options={"calibration": file})
    assert strict.findings[0].label is Label.LACKING_EVIDENCE
    assert strict.judge.version.endswith("+fixed~t1s0.95c0.9")
    calibration("fixed", supported=0.8, heat=2.0).save(file)
    milder = check(verifier=Fixed(0.9, 0.0, 0.1), verifier_options={"calibration": file})
    assert milder.findings[0].label is Label.LACKING_EVIDENCE  # 0.75 at a temperature of 2
    assert np.allclose(apply_temperature(np.array([[0.9, 0.0, 0.1]], np.float32), 2.0), [[0.75, 0.0, 0.25]])


def test_a_calibration_of_another_verifier_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    calibration("other").save(file)
    options = {"calibration": file}
    with raises(ConfigError, "verifier", "fixed"):
        check(verifier=Fixed(1, 0, 0), verifier_options=options)
    file.write_text("{}", encoding="utf-8")
    with raises(ConfigError, "verifier", "calibration"):
        check(verifier=Fixed(1, 0, 0), verifier_options=options)
    with pytest.raises(ConfigError):
        check(verifier=Fixed(1, 0, 0), verifier_options={"calibration": tmp_path / "gone.json"})
    with pytest.raises(ConfigError):
        calibration("fixed").save(tmp_path / "no" / "folder.json")


def test_the_careful_reader_is_named_and_what_has_none_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vista_guard.inference.weights.has_weights", lambda name, folder: False)
    with pytest.raises(ConfigError, match="the installed weights have no careful reader"):
        build_verifier("reader")
    with pytest.raises(ConfigError, match=rf"the folder {tmp_path} has no reader\.onnx"):
        build_verifier(f"reader:{tmp_path}")
    monkeypatch.undo()
    for file in ("reader.onnx", "judge.json"):
        (tmp_path / file).write_bytes((WEIGHTS / "judge.json").read_bytes())
    assert build_verifier(f"reader:{tmp_path}").verifier.name == "reader"
