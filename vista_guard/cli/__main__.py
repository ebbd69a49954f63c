"""`python -m vista_guard.cli`."""

from vista_guard.cli import main

main()
