"""Roles of messages, by the names that libraries and chat platforms give to speakers. A user maps other names."""

from __future__ import annotations

import re
from collections.abc import Mapping

from vista_guard.errors import ConfigError, InputError
from vista_guard.types import Role

ROLES = {
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("ai", "assistant", "model", "bot", "agent"), "assistant"),
    **dict.fromkeys(("system", "developer"), "system"),
    **dict.fromkeys(("tool", "function"), "tool"),
}
"""Roles of a chat API by the names that libraries use."""

USUAL = {
    **ROLES,
    **dict.fromkeys(("customer", "client", "visitor", "guest", "lead", "contact"), "user"),
    **dict.fromkeys(("end_user", "enduser", "incoming", "inbound"), "user"),
    **dict.fromkeys(("gpt", "chatgpt", "bing", "bard", "chatbot", "ai_agent", "virtual_agent"), "assistant"),
    **dict.fromkeys(("business", "outgoing", "outbound"), "assistant"),
    **dict.fromkeys(("observation", "function_response"), "tool"),
}
"""Roles by the names of speakers. A name that means one thing here and another there (operator, admin) is not among them."""

KEYS = (
    *("role", "sender_type", "author_type", "actor_type", "speaker", "sender", "author", "from"),
    *("direction", "event", "type"),
)
"""Keys of a message's speaker, as `snake` writes them. Of several, the first with a known name says who speaks."""

Roles = Mapping[str, str]
"""A role (user, assistant, system or tool) by the names that a log has for it."""

_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")


def snake(name: object) -> str:
    """A key or a name as this module writes it.

    Examples:
        >>> snake("Session ID"), snake("senderType"), snake("end-user")
        ('session_id', 'sender_type', 'end_user')
    """
    return _HUMP.sub("_", str(name).strip()).lower().replace(" ", "_").replace("-", "_")


def role_named(name: object) -> str | None:
    """The role of a speaker with this name; None for an unknown one."""
    return USUAL.get(snake(name)) if isinstance(name, str) else None


def known_role(name: object) -> str:
    """The role of a speaker with this name. Raises InputError for an unknown one; says how to map it."""
    role = role_named(name)
    if role is None:
        how = f"; map it: --roles {name}=user, or =assistant, =system, =tool" if isinstance(name, str) and name else ""
        raise InputError(f"has the role {name!r}; the roles are {', '.join(Role)} and usual names for them{how}")
    return role


def parse_roles(told: str) -> dict[str, str]:
    """Parses a map such as `operator=assistant,bot user=user`. Raises ConfigError for a part that maps no name to a role."""
    pairs = (part.rpartition("=") for part in told.split(","))
    return checked({name.strip(): role.strip() for name, _, role in pairs})


def checked(roles: Roles) -> dict[str, str]:
    """The map, by names as `snake` writes them. Raises ConfigError for an empty name or an unknown role."""
    for name, role in roles.items():
        if not name or role not in tuple(Role):
            wrong = f"{name}={role}".strip("=")
            raise ConfigError(
                f"--roles has {wrong!r}; give name=role pairs such as operator=assistant: {', '.join(Role)}"
            )
    return {snake(name): role for name, role in roles.items()}
