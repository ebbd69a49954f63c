"""Writes what the documentation says of the code from the code, so that it cannot go stale.

`python -m tools.pages` writes; with `--check` it only tells, by exit code 1, which files are old.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tools.commands import commands_page
from tools.datasets import with_datasets
from tools.rooms import with_rooms
from tools.telemetry import with_names

ROOT = Path(__file__).parents[1]
ARCHITECTURE = Path("docs/design/architecture.md")
DATASETS = Path("docs/datasets.md")
TELEMETRY = Path("docs/telemetry.md")


def pages(folder: Path) -> dict[Path, str]:
    """Each page that is written, wholly or in part, and what belongs into it; `folder` has its other parts."""
    from vista_guard.cli.init import report_schema

    return {
        Path("docs/cli.md"): commands_page(),
        Path("docs/report.schema.json"): report_schema(),
        DATASETS: with_datasets((folder / DATASETS).read_text("utf-8")),
        TELEMETRY: with_names((folder / TELEMETRY).read_text("utf-8")),
        ARCHITECTURE: with_rooms((folder / ARCHITECTURE).read_text("utf-8"), ROOT),
    }


def old_pages(folder: Path) -> dict[Path, str]:
    """The pages of `folder` that are not as they should be, and how they should be."""
    return {path: text for path, text in pages(folder).items() if _now(folder / path) != text}


def _now(path: Path) -> str | None:
    return path.read_text("utf-8") if path.exists() else None


def main() -> None:
    """Writes or checks the pages of the folder it is called in."""
    old = old_pages(Path())
    if "--check" in sys.argv[1:]:
        sys.exit(f"{', '.join(map(str, old))}: old; run: make docs" if old else 0)
    for path, text in old.items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
