"""The tables that runs can fill, by number; the folders where runs are found; and the files that tables are written to."""

from __future__ import annotations

import base64
import os.path
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vista_guard.errors import ConfigError, InputError
from vista_lab.runs.folder import MANIFEST
from vista_lab.tables.overview import overview, tables_8_to_11
from vista_lab.tables.runs import Measured, check_comparable
from vista_lab.tables.vista import table_2, table_3, table_4, table_5, table_20, table_21, tables_12_to_19
from vista_lab.tables.writers import FORMATS, Sheet, comma_separated, latex, markdown, page, unique_names

TITLE = "Runs side by side"


@dataclass(frozen=True)
class Picture:
    """A figure on disk: what it shows, in a sentence, and its files, an SVG and a PNG."""

    caption: str
    svg: Path
    png: Path


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
    sheets: Sequence[Sheet], forms: Sequence[str], folder: Path, pictures: Sequence[Picture] = (), title: str = TITLE
) -> list[Path]:
    """The tables as files: one for all in each format, and one each in CSV. HTML holds the pictures in itself.

    Returns:
        What was written, and the pictures' files.

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
    drawn = [path for picture in pictures for path in (picture.svg, picture.png)]
    return [*write_files(folder, contents), *drawn]


def write_files(folder: Path, contents: Mapping[str, str | bytes]) -> list[Path]:
    """Texts as files of a folder, which is made where it is not there; what is there is replaced.

    Raises:
        ConfigError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            # Not `write_text`: a sheet's lines end as they are, on every system.
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    except OSError as exc:
        raise ConfigError(f"{folder} cannot be written: {exc.strerror}. Choose another --out") from exc
    return [folder / name for name in contents]


def _inline(svg: Path) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.read_bytes()).decode()


NUMBERS = (2, 3, 4, 5, *range(8, 22))
"""Of the paper's tables that runs can fill. Tables 1, 6 and 7 are of annotations."""


def numbers(asked: str) -> frozenset[int]:
    """The tables in a list such as `2,3,8-11`.

    Raises:
        InputError: something in it is no number of such a table.
    """
    found: set[int] = set()
    for part in asked.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            ends = int(first), int(last if dash else first)
        except ValueError as exc:
            raise InputError(f"--tables has {part.strip()!r}; give numbers, such as 2,3,8-11") from exc
        if not (ends[0] <= ends[1] and set(ends) <= set(NUMBERS)):
            raise InputError(
                f"table {part.strip()} cannot be filled from runs; 2, 3, 4, 5 and 8-21 can (Tables 1, 6 and 7 come "
                "from annotations: see vista-guard agree)"
            )
        found |= set(range(ends[0], ends[1] + 1)) & set(NUMBERS)
    return frozenset(found)


def sheets(runs: Sequence[Measured], asked: frozenset[int] | None = None) -> tuple[list[Sheet], list[str]]:
    """The overview and the tables, in the order of their numbers, and which of those asked for nothing fills.

    `asked` are numbers of tables; all that can be filled when None.

    Raises:
        InputError: runs on one data set cannot be compared.
    """
    check_comparable(runs)
    found, empty = [overview(runs)], []
    for own, fill, need in _FILLERS:
        if asked is None or asked & {*own}:
            filled = tables_12_to_19(runs, asked or ()) if fill is tables_12_to_19 else fill(runs)
            found += filled
            if not filled and asked is not None:
                name = f"{own[0]} to {own[-1]}" if len(own) > 1 else f"{own[0]}"
                empty.append(f"no run fills Table {name}: it needs {need}")
    return found, empty


_FILLERS: Sequence[tuple[Sequence[int], Callable[[Sequence[Measured]], list[Sheet]], str]] = (
    ([2], table_2, "a data set of unverifiable turns with labels of its own"),
    ([3], table_3, "claims that people labelled, judged with --claims given"),
    ([4], table_4, "two of vista, no-ac, no-history and zero-shot, with one judge on one data set"),
    ([5], table_5, "a data set of contradictions"),
    (range(8, 12), tables_8_to_11, "two runs on one data set"),
    (range(12, 20), tables_12_to_19, "claims that people labelled, judged with --claims given"),
    ([20], table_20, "a data set of abstentions"),
    ([21], table_21, "a data set of abstentions"),
)
"""Numbers of tables, what fills them, and what they need of the runs."""
