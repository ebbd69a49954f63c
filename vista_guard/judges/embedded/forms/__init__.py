"""The forms of a text: fences and code, headings, tables, HTML, encodings that no reader can read.

`blocks` splits Markdown, `code` tells code from prose, `markup` removes HTML and inline Markdown.
"""
