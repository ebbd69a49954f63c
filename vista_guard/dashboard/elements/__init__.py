"""What pages are built of: the element tree, charts, addresses and filters, looks.

`tree` escapes every text; nothing else writes HTML.
"""
