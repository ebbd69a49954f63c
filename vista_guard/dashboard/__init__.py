"""The dashboard: stored reports in a browser, with Streamlit, which no other room of the guard imports. Extra `dashboard`.

`server` serves it and `access` decides who may come in. Streamlit runs `main` for every reader; `registry` lists the pages, each
a file: `live`, `conversation/`, `trends`, `review`. Pages read through `scoped` and draw with `elements/`. docs/dashboard.md is
the manual, docs/design/dashboard.md the reasons.
"""
