"""What stands before a part of the client: what is not guarded is that part's own."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from vista_guard.integrations.openai.client_guard import ClientGuard

Part = TypeVar("Part")


class GuardedPart(Generic[Part]):
    """Stands before a part of the client, and passes for one: what it does not have itself is that part's own."""

    def __init__(self, inner: Part, guard: ClientGuard) -> None:
        self._inner, self._guard = inner, guard

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def __repr__(self) -> str:
        return f"guarded({self._inner!r})"

    @property  # type: ignore[misc]  # other libraries ask whether they were given a part of the SDK
    def __class__(self) -> Any:
        return type(self._inner)
