"""Building blocks of pages.

`tree` draws elements and is the only place that writes HTML, with every text escaped. `address` keeps filters and selections in
the URL, `charts` draws figures with a table beneath, `looks` names the colour, sign and word of labels and actions.
"""
