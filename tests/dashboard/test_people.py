"""Who may see what."""

from __future__ import annotations

from typing import Any

import pytest

from vista_guard.dashboard.access import Viewer, viewer_of
from vista_guard.dashboard.settings import Permission, Person

PEOPLE = {
    "Ada@Example.com": Person(tenants=("*", "north"), may=frozenset({Permission.DRAFTS})),
    "*@north.example.com": Person(tenants=("north", "east")),
    "eve@north.example.com": Person(tenants=()),
}


@pytest.mark.parametrize(
    ("user", "seen"),
    [
        (
            {"email": "ada@example.com", "email_verified": True},
            Viewer("ada@example.com", None, frozenset({Permission.DRAFTS})),
        ),
        (
            {"email": "Bo@north.example.com", "email_verified": True},
            Viewer("bo@north.example.com", ("north", "east"), frozenset()),
        ),
        ({"email": "eve@north.example.com", "email_verified": True}, Viewer("eve@north.example.com", (), frozenset())),
        ({"email": "ada@example.com", "email_verified": False}, None),
        ({"email": "ada@example.com"}, None),
        ({"email": "x@evilnorth.example.com", "email_verified": True}, None),
        ({"email": "*@north.example.com@evil.com", "email_verified": True}, None),
        ({"email_verified": True}, None),
        ({"name": "ada@example.com", "email_verified": True}, None),
    ],
)
def test_who_is_let_in(user: dict[str, Any], seen: Viewer | None) -> None:
    assert viewer_of(user, PEOPLE) == seen
