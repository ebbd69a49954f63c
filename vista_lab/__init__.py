"""Tools for many turns afterwards: replays, evaluations, comparisons, people's annotations, data and training.

`vista_guard` judges one turn beside a chatbot and never imports this package. Commands and dashboard pages come to the guard
through entry points (`cli.register`, `pages.pages`).
"""

import vista_guard as vista_guard  # first of all: it takes the working folder off the import path of `python -m vista_lab`
