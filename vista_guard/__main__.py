"""`python -m vista_guard`: the command line."""

from vista_guard.cli import main

main()
