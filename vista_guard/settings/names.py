"""Names in settings, such as `openai:MODEL@URL`: the kinds that a setting takes, and who builds each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from vista_guard.errors import ConfigError

Context = TypeVar("Context")
Made = TypeVar("Made")


class Kinds(Generic[Context, Made]):
    """The values that a setting may name, by form: a word, `kind:WHAT`, or `PATH` for a folder.

    Example:
        >>> shapes = Kinds[int, int]("shape", {"square:SIDE": (lambda name, n: n * int(name[7:]) ** 2, "with four equal sides")})
        >>> shapes.build("square:3", 2)
        18
    """

    def __init__(
        self, setting: str, forms: Mapping[str, tuple[Callable[[str, Context], Made], str]], note: str = ""
    ) -> None:
        """Takes each form's builder, which gets the whole name, and its explanation; `note` ends their list in errors."""
        self._setting = setting
        self._forms = forms
        self._note = note
        # What follows a kind is written in capitals.
        self._kinds = {form.partition(":")[0]: form for form in forms if form != form.lower() and ":" in form}

    def build(self, name: str, context: Context) -> Made:
        """Builds what the name says. ConfigError: no such kind or folder; lists the kinds."""
        name = name.strip()
        kind, _, rest = name.partition(":")
        form = name if name in self._forms and name == name.lower() else self._kinds.get(kind) if rest else None
        if form is None and name and "PATH" in self._forms and Path(name).expanduser().is_dir():
            form = "PATH"
        if form is None:
            raise self.unknown(name)
        return self._forms[form][0](name, context)

    def parts(self, name: str, most: int = 2) -> list[str]:
        """The names after a kind, with commas between them. ConfigError: too few or too many, or one that has parts itself."""
        parts = [part.strip() for part in name.partition(":")[2].split(",")]
        joining = [kind for kind, form in self._kinds.items() if "," in form]
        if not 2 <= len(parts) <= most or not all(parts) or any(part.partition(":")[0] in joining for part in parts):
            count, setting = "two" if most == 2 else f"2 to {most}", self._setting
            raise ConfigError(
                f"{setting} is {name!r}; it takes {count} {setting}s with commas between them, none of them of the kind "
                f"{' or '.join(joining)}. For more, pass a {setting} object"
            )
        return parts

    def unknown(self, name: str) -> ConfigError:
        """The error for a name of no kind; lists the kinds."""
        setting = self._setting
        problem = "is neither of these kinds nor a folder" if "PATH" in self._forms else "does not exist"
        forms = "\n".join(f"  {form:<32}  {said}" for form, (_, said) in self._forms.items())
        return ConfigError(
            f"{setting} is {name!r}, which {problem}. The {setting}s are:\n{forms}\n{self._note}".rstrip()
        )
