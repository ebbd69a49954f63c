"""`python -m vista_guard.evaluation.paper`: the paper's tables as far as no model is needed, and what contradicts itself."""

from __future__ import annotations

import sys

from vista_guard.evaluation.figures.writers import markdown
from vista_guard.evaluation.paper.checks.everything import check_all
from vista_guard.evaluation.paper.shown import contradicting, sheets


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
