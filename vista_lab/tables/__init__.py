"""Tables and figures, in the terminal, as Markdown, LaTeX, CSV, HTML, SVG and PNG.

`vista` and `overview` lay out the tables, `writers` writes them, `plots` and `pictures` draw, `printed` prints the paper's.
"""
