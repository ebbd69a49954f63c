"""Where runs are found, and what tables are written to."""

from __future__ import annotations

import base64
import os.path
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vista_guard.errors import ConfigError, InputError
from vista_guard.evaluation.figures.latex import latex
from vista_guard.evaluation.figures.sheets import Sheet, told_apart
from vista_guard.evaluation.figures.writers import FORMATS, comma_separated, markdown, page
from vista_guard.evaluation.runners.manifest import MANIFEST

TITLE = "Runs side by side"


@dataclass(frozen=True)
class Picture:
    """A figure on disk: what it shows, in a sentence, and its files, an SVG and a PNG."""

    caption: str
    svg: Path
    png: Path

    @property
    def files(self) -> tuple[Path, Path]:
        """Both."""
        return self.svg, self.png


def find_folders(places: Sequence[Path]) -> Mapping[str, Path]:
    """The runs' folders among places and below them, by names that tell them apart, in the order given.

    Raises:
        InputError: a place is none and has none below it.
    """
    found: dict[Path, None] = {}
    for place in places:
        folders = list(_folders(place))
        if not folders:
            what = (
                "no folder" if not place.is_dir() else f"no run's folder: neither it nor one below it has a {MANIFEST}"
            )
            raise InputError(f"{place} is {what}; give folders that vista-guard eval wrote")
        found |= dict.fromkeys(folders)
    names = {folder: str(folder) for folder in found}
    short = {folder: folder.resolve().name for folder in found}
    if len(set(short.values())) == len(short):
        names = short
    elif len(found) > 1:
        above = os.path.commonpath([str(folder.resolve()) for folder in found])
        names = {folder: str(folder.resolve().relative_to(above)) for folder in found}
    return {names[folder]: folder for folder in found}


def _folders(place: Path) -> Iterator[Path]:
    if (place / MANIFEST).is_file():
        yield place
    elif place.is_dir():
        yield from sorted(path.parent for path in place.rglob(MANIFEST))


def chosen_formats(asked: str, out: Path | None, *, figures: bool) -> list[str]:
    """The formats in a list such as `md,tex`.

    Raises:
        ConfigError: one is unknown, or what was asked for cannot all go to stdout.
    """
    found = list(dict.fromkeys(part.strip() for part in asked.split(",")))
    unknown = next((name for name in found if name not in FORMATS), None)
    if unknown is not None:
        raise ConfigError(f"--format {unknown!r} is unknown; there are {', '.join(FORMATS)}")
    if out is None and (len(found) > 1 or figures):
        what = "figures" if figures else f"{len(found)} formats"
        raise ConfigError(f"{what} cannot go to stdout; name a folder with --out")
    return found


def text(sheets: Sequence[Sheet], form: str, title: str = TITLE) -> str:
    """All tables in one text. In CSV each begins with a line `# title`. `title` is of the HTML page."""
    if form == "md":
        return markdown(sheets)
    if form == "tex":
        return latex(sheets)
    if form == "html":
        return page(sheets, title)
    return "\n".join(f"# {' '.join(sheet.title.split())}\n{comma_separated(sheet)}" for sheet in sheets)


def write(
    sheets: Sequence[Sheet],
    forms: Sequence[str],
    folder: Path,
    pictures: Sequence[Picture] = (),
    title: str = TITLE,
) -> list[Path]:
    """The tables as files: one for all in each format, and one each in CSV. HTML holds the pictures in itself.

    Returns:
        What was written.

    Raises:
        ConfigError: the folder cannot be written.
    """
    contents: dict[str, str] = {}
    for form in forms:
        if form == "csv":
            names = told_apart(sheet.name for sheet in sheets)
            contents |= {f"{name}.csv": comma_separated(sheet) for name, sheet in zip(names, sheets, strict=True)}
        elif form == "html":
            contents["tables.html"] = page(sheets, title, [(one.caption, _inline(one.svg)) for one in pictures])
        else:
            contents[f"tables.{form}"] = text(sheets, form)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            (folder / name).write_text(content, encoding="utf-8")
    except OSError as exc:
        raise ConfigError(f"{folder} cannot be written: {exc.strerror}. Choose another --out") from exc
    return [folder / name for name in contents]


def _inline(svg: Path) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.read_bytes()).decode()
