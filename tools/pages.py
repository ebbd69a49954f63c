"""Writes the documentation's facts on the code from the code, so that they cannot go stale.

`python -m tools.pages` writes; with `--check` it only lists the old files, and exits with 1.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.commands import FOLDER, command_pages
from tools.datasets import with_datasets
from tools.rooms import with_rooms
from tools.telemetry import with_names

ROOT = Path(__file__).parents[1]
ARCHITECTURE = Path("docs/design/architecture.md")
DATASETS = Path("docs/datasets.md")
TELEMETRY = Path("docs/telemetry.md")


def pages(folder: Path) -> dict[Path, str]:
    """The text of each page that is written, wholly or in part; `folder` has its other parts."""
    from vista_guard.cli.init import report_schema

    return {
        **command_pages(folder / "docs"),
        Path("docs/report.schema.json"): report_schema(),
        DATASETS: with_datasets((folder / DATASETS).read_text("utf-8")),
        TELEMETRY: with_names((folder / TELEMETRY).read_text("utf-8")),
        ARCHITECTURE: with_rooms((folder / ARCHITECTURE).read_text("utf-8"), ROOT),
    }


def old_pages(folder: Path) -> dict[Path, str]:
    """The outdated pages of `folder`, with their new text."""
    return {path: text for path, text in pages(folder).items() if _current_text(folder / path) != text}


def left_pages(folder: Path) -> list[Path]:
    """Pages in `folder` of commands that are no more."""
    return sorted({path.relative_to(folder) for path in (folder / FOLDER).glob("*.md")} - set(pages(folder)))


def _current_text(path: Path) -> str | None:
    return path.read_text("utf-8") if path.exists() else None


def main() -> None:
    """Writes or checks the pages of the folder it is called in."""
    old, left = old_pages(Path()), left_pages(Path())
    if "--check" in sys.argv[1:]:
        sys.exit(f"{', '.join(map(str, [*old, *left]))}: old; run: make docs" if old or left else 0)
    for path, text in old.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
    for path in left:
        path.unlink()
        print(f"removed {path}")


if __name__ == "__main__":
    main()
