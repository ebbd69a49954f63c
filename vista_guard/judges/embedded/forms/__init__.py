"""The forms that a text comes in: fences and code, headings, tables, HTML, what no reader can read."""
