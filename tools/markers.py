"""The part of a page between two markers, which is written from the code."""

from __future__ import annotations


def put_between(page: str, start: str, end: str, text: str) -> str:
    """The page with the text between its two markers.

    Raises:
        ValueError: the page does not have the two markers, once each and in this order.
    """
    before, found, rest = page.partition(start)
    _, closed, after = rest.partition(end)
    if not found or not closed or start in rest or end in before + after:
        raise ValueError(f"the page needs {start} and then {end}, once each")
    return f"{before}{start}\n{text}\n{end}{after}"
