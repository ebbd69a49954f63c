"""Tables and figures, in the terminal, as Markdown, LaTeX, CSV, HTML, SVG and PNG.

`runs` reads what they are made of, `overview` has a line a run, `output` fills a paper's tables and writes them; `plots` draws.
"""
