"""The shipped models' sessions: the same numbers on every processor."""

from __future__ import annotations

import numpy as np
import pytest

from vista_guard.inference import onnx

PAIRS = [("The pool is open daily.", "Guests swim every day."), ("Orders ship in two days.", "They ship in a week.")]


@pytest.mark.parametrize("saturates", [True, onnx._saturates()])
def test_a_sum_of_int8_products_is_exact(saturates: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from onnxruntime import InferenceSession

    monkeypatch.setattr(onnx, "_saturates", lambda: saturates)
    session = InferenceSession(onnx._PRODUCT, onnx._options(), providers=["CPUExecutionProvider"])
    (product,) = session.run(None, {"a": np.full((1, 4), 255, np.uint8)})
    assert product.tolist() == [[4 * 255 * 127]]


def test_a_session_for_a_processor_that_saturates_gives_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    here = onnx.Encoder.load("verifier", max_length=64).run(PAIRS)
    monkeypatch.setattr(onnx, "_saturates", lambda: True)
    np.testing.assert_array_equal(onnx.Encoder.load("verifier", max_length=64).run(PAIRS), here)
