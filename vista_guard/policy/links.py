"""The decision on links to hosts that no document has. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from vista_guard.protocols import LinkPolicy, Policy
from vista_guard.types import Action, Decision, Link

LinkMode = Literal["allow", "flag", "remove"]

_HOST = re.compile(r"(?:\*\.)?[\w-]+(?:\.[\w-]+)*|\[[\da-f:.]+\]", re.IGNORECASE)
_MOST_NAMED = 3
_LONGEST_HOST = 80


def link_mode(policy: Policy) -> LinkMode:
    """The policy's mode for links; `allow` for a policy without one."""
    return policy.links if isinstance(policy, LinkPolicy) else "allow"


def check_host(pattern: str) -> str:
    """Returns a pattern of `link_hosts`. ValueError: it is no host, such as a whole address."""
    if not _HOST.fullmatch(pattern):
        raise ValueError(
            "give the host alone, without scheme, port and path: docs.example.com, or *.example.org for its subdomains"
        )
    return pattern


def as_hosts(given: object) -> object:
    """One host as a list of one."""
    return (given,) if isinstance(given, str) else given


def with_links(decision: Decision, links: Sequence[Link], mode: LinkMode) -> Decision:
    """The decision on a turn that has these links to hosts that no document has.

    A turn whose links are removed is repaired; one that is withheld or repaired for its claims stays so.
    """
    if not links or mode == "allow":
        return decision
    action = Action.FLAG if mode == "flag" else Action.REPAIR
    reason = link_words(links)
    if mode == "remove" and decision.action is not Action.BLOCK:
        reason = f"{len(links)} link{'s' * (len(links) != 1)} removed: {reason}"
    if decision.action is Action.ALLOW:
        return decision.model_copy(update={"action": action, "reason": reason})
    if decision.action is Action.FLAG:
        return decision.model_copy(update={"action": action, "reason": f"{reason}; {decision.reason}"})
    return decision.model_copy(update={"reason": f"{decision.reason}; {reason}"})


def link_words(links: Sequence[Link]) -> str:
    """Says where links lead: `links to other.example, which is in no document nor in link_hosts`."""
    hosts = list(dict.fromkeys(link.host for link in links if link.host))
    named = [host if len(host) <= _LONGEST_HOST else f"…{host[1 - _LONGEST_HOST :]}" for host in hosts[:_MOST_NAMED]]
    if len(hosts) > _MOST_NAMED:
        named.append(f"{len(hosts) - _MOST_NAMED} more hosts")
    said = []
    if named:
        listed = " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))
        said.append(f"links to {listed}, which {'is' if len(hosts) == 1 else 'are'} in no document nor in link_hosts")
    if any(link.host is None for link in links):
        said.append("has a script or an address that runs")
    return "; ".join(said)
