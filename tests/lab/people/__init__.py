"""Forms, sheets, agreement and consensus. Sheets in .xlsx need the extra `evaluation`."""

from __future__ import annotations

import os

import pytest

if not os.environ.get("VISTA_GUARD_REQUIRE_ALL"):
    pytest.importorskip("openpyxl", reason="the extra evaluation is not installed")
