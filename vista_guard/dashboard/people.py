"""Who looks at the dashboard, and what they may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from vista_guard.dashboard.settings import Permission, Person

EVERYTHING: Final = "*"


@dataclass(frozen=True)
class Viewer:
    """Who is looking. `tenants` are those whose reports they see, None for all of them; `may` is what they may do."""

    name: str
    tenants: tuple[str, ...] | None
    may: frozenset[Permission]

    def allows(self, permission: Permission) -> bool:
        """Whether they may do this."""
        return permission in self.may


THIS_MACHINE: Final = Viewer("local", None, frozenset(Permission))
"""Whoever opened the one-time link. They started the dashboard, or were handed its link: they can read the database itself."""


def viewer_of(user: Mapping[str, Any], people: Mapping[str, Person]) -> Viewer | None:
    """Who signed in, by the e-mail address that the provider vouches for; None when the settings let nobody of that address in.

    Args:
        user: claims of the identity token.
        people: by address, or by `*@domain`. The address itself comes before its domain.
    """
    address = str(user.get("email") or "").casefold()
    # A provider that lets people type any address would let them be anybody: it must have been verified.
    if not address or user.get("email_verified") not in (True, "true"):
        return None
    known = {name.casefold(): person for name, person in people.items()}
    person = known.get(address) or known.get("*@" + address.rpartition("@")[2])
    if person is None:
        return None
    everything = EVERYTHING in person.tenants
    return Viewer(address, None if everything else person.tenants, person.may)
