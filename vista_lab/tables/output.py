"""Finds the runs' folders, writes tables to files, and how the tables of a paper are filled by number."""

from __future__ import annotations

import base64
import os.path
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vista_guard.errors import ConfigError, InputError
from vista_lab.files import writing
from vista_lab.runs.folder import MANIFEST
from vista_lab.tables.runs import RunMeasures
from vista_lab.tables.writers import FORMATS, Sheet, comma_separated, latex, markdown, page, unique_names

TITLE = "Runs side by side"


@dataclass(frozen=True)
class Picture:
    """A figure on disk: what it shows, in a sentence, and its files, an SVG and a PNG."""

    caption: str
    svg: Path
    png: Path


def find_folders(places: Sequence[Path], maker: str = "vista-guard eval") -> Mapping[str, Path]:
    """The runs' folders at and below these places, by unique names, in the order given. `maker` wrote them, for the error.

    Raises InputError: a place has no run's folder.
    """
    all_folders: dict[Path, None] = {}
    for place in places:
        folders = list(_folders(place))
        if not folders:
            lacks = f"no run's folder: neither it nor one below it has a {MANIFEST}"
            fault = lacks if place.is_dir() else "no folder"
            raise InputError(f"{place} is {fault}; give folders that {maker} wrote")
        all_folders |= dict.fromkeys(folders)
    names = {folder: str(folder) for folder in all_folders}
    short = {folder: folder.resolve().name for folder in all_folders}
    if len(set(short.values())) == len(short):
        names = short
    elif len(all_folders) > 1:
        above = os.path.commonpath([str(folder.resolve()) for folder in all_folders])
        names = {folder: str(folder.resolve().relative_to(above)) for folder in all_folders}
    return {names[folder]: folder for folder in all_folders}


def _folders(place: Path) -> Iterator[Path]:
    if (place / MANIFEST).is_file():
        yield place
    elif place.is_dir():
        yield from sorted(path.parent for path in place.rglob(MANIFEST))


def chosen_formats(asked: str, out: Path | None, *, figures: bool) -> list[str]:
    """The formats in a list such as `md,tex`.

    Raises ConfigError: a format is unknown, or the output is too much for stdout.
    """
    formats = list(dict.fromkeys(part.strip() for part in asked.split(",")))
    unknown = next((name for name in formats if name not in FORMATS), None)
    if unknown is not None:
        raise ConfigError(f"--format {unknown!r} is unknown; there are {', '.join(FORMATS)}")
    if out is None and (len(formats) > 1 or figures):
        content = "figures" if figures else f"{len(formats)} formats"
        raise ConfigError(f"{content} cannot go to stdout; name a folder with --out")
    return formats


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
    sheets: Sequence[Sheet], forms: Sequence[str], folder: Path, pictures: Sequence[Picture] = (), title: str = TITLE
) -> list[Path]:
    """Writes all tables to one file per format, in CSV one file per table. HTML embeds the pictures.

    Returns:
        Paths of the tables and of the pictures.

    Raises:
        ConfigError: the folder cannot be written.
    """
    contents: dict[str, str | bytes] = {}
    for form in forms:
        if form == "csv":
            names = unique_names(sheet.name for sheet in sheets)
            contents |= {f"{name}.csv": comma_separated(sheet) for name, sheet in zip(names, sheets, strict=True)}
        elif form == "html":
            contents["tables.html"] = page(sheets, title, [(one.caption, _inline(one.svg)) for one in pictures])
        else:
            contents[f"tables.{form}"] = text(sheets, form)
    picture_files = [path for picture in pictures for path in (picture.svg, picture.png)]
    return [*write_files(folder, contents), *picture_files]


def write_files(folder: Path, contents: Mapping[str, str | bytes]) -> list[Path]:
    """Writes texts to files of a folder, which is created if missing; existing files are replaced.

    Raises ConfigError: the folder cannot be written.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            # Not `write_text`, which changes line ends on Windows.
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return [folder / name for name in contents]


def _inline(svg: Path) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.read_bytes()).decode()


@dataclass(frozen=True)
class Filled:
    """A paper's tables: those that the material fills, messages about requested ones that it does not, and its figures.

    `draw` draws the figures into a folder.
    """

    sheets: list[Sheet]
    empty: list[str]
    draw: Callable[[Path], list[Picture]]


@dataclass(frozen=True)
class PaperTables:
    """How a paper's tables are filled from runs.

    Attributes:
        numbers: the tables that runs can fill.
        elsewhere: where the paper's other tables come from, for the error about their numbers.
        fill: fills the tables with these numbers, all when None, from runs and files of scores. Raises `InputError` if runs on
            one data set cannot be compared.
        errors: reference of a function that writes the units which some run has wrong into a sheet, and returns their number.
    """

    numbers: Collection[int]
    elsewhere: str
    fill: Callable[[Sequence[RunMeasures], Collection[int] | None, Sequence[Path]], Filled]
    errors: str = ""

    def chosen(self, asked: str) -> frozenset[int]:
        """The tables in a list such as `2,3,8-11`. Raises InputError: an entry is not one of these tables."""
        tables: set[int] = set()
        for part in asked.split(","):
            first, dash, last = part.strip().partition("-")
            try:
                ends = int(first), int(last if dash else first)
            except ValueError as exc:
                raise InputError(f"--tables has {part.strip()!r}; give numbers, such as 2,3,8-11") from exc
            if not (ends[0] <= ends[1] and set(ends) <= set(self.numbers)):
                known = ", ".join(map(str, self.numbers))
                raise InputError(f"table {part.strip()} cannot be filled from runs; {known} can ({self.elsewhere})")
            tables |= set(range(ends[0], ends[1] + 1)) & set(self.numbers)
        return frozenset(tables)
