"""`python -m vista_lab.papers`: the paper's tables as far as no model is needed, and what contradicts itself."""

from __future__ import annotations

import sys

from vista_lab.papers.checks import check_all
from vista_lab.papers.shown import contradicting, sheets
from vista_lab.tables.writers import markdown


def main() -> int:
    """Prints everything as Markdown.

    Returns:
        0, or 1 where a figure is neither as printed nor a named contradiction.
    """
    found = check_all()
    print(markdown([*sheets(), contradicting(found)]))
    for problem in found.wrong:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
