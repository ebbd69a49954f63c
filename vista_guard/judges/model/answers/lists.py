"""Reads the numbered list of claims that a model wrote in place of JSON. Pure.

Nothing of an item is lost: a line that is no item of its own goes on with the one before.
"""

from __future__ import annotations

import re

_NUMBER = r"(?P<number>\d{1,3}|[①-⑳]|[一二三四五六七八九十]{1,3})"
_ITEM = re.compile(
    rf"""(?P<indent>[ ]*)(?:[>#][ ]?){{0,3}}(?P<bold>\*\*|__)?(?:
        (?:claim|statement|fact)[ ]?\#?{_NUMBER.replace("number", "named")}[ ]?(?:[:.)、-]|(?=\*\*))
      | (?P<nested>\d{{1,3}}(?:\.\d{{1,3}}){{1,3}})(?:[.):]|(?=[ ]))(?!\d)
      | [(\[]{_NUMBER.replace("number", "paren")}[)\]][.:]?
      | {_NUMBER}(?:[.)、．:](?!\d)|[ ]?[-–—](?=[ ]))
      | (?P<circled>[①-⑳])
      | [a-z]\)(?=[ ]) | \([a-z]\)(?=[ ])
      | (?P<bullet>[-*•–—·▪◦‣+](?=[ ]))
    )(?P<closing>\*\*|__)?[ ]*(?P<text>.*)""",
    re.IGNORECASE | re.VERBOSE,
)
_NOISE = re.compile(r"\s*(?:`{3,}|~{3,})[\w-]*\s*|\s*(?:[-*_=]\s?){3,}\s*")
_NEXT_PROMPT = re.compile(r"[\W_]*(?:CONVERSATION(?:\W+\d+| HISTORY)|TARGET TURN)[\W_]*", re.IGNORECASE)
_KINDS = r"(?:factual|verifiable|atomic|distinct|explicit|checkable|belief-based|or|,|\s)*"
_NONE = re.compile(
    rf"""\W*(?:none|n/?a|nothing|nil|no\s{_KINDS}(?:claims?|statements?|facts?|assertions?)
      | (?:there\s(?:are|is)|i\sfound|(?:the|this)\s(?:target\s)?turn\s(?:contains|makes|has))\s(?:no|not\sany|zero)\s{_KINDS}
        (?:claims?|statements?|facts?|assertions?))
      (?:\s(?:were|are|was|is))?(?:\s(?:found|made|present|identified|to\s(?:list|extract|report)))?
      (?:\s(?:here|in\s(?:the|this)\s(?:target\s)?turn))?\W*""",
    re.IGNORECASE | re.VERBOSE,
)


def says_none(text: str) -> bool:
    """Whether an answer says that there is no claim at all."""
    return len(text) < 200 and bool(_NONE.fullmatch(text) or text.strip("` \n") == "[]")


def items(text: str) -> list[str]:
    """The items of a list, numbered or bulleted, whatever the numbers look like; headings and talk around it are left out."""
    found: list[tuple[int, str]] = []
    paragraph_over, number, nested, ended = False, 0, 0, True
    for line in text.replace("\u3000", " ").split("\n"):
        if not line.strip():
            paragraph_over = True
            continue
        if found and _NEXT_PROMPT.fullmatch(line):
            break
        item = None if _NOISE.fullmatch(line) else _ITEM.fullmatch(line)
        value = _value(item) if item else None
        below = [int(part) for part in item["nested"].split(".")] if item and item["nested"] else None
        if below and found and (below[0] not in (number, 0) or below[-1] not in (1, nested + 1)):
            item = None
        # A number that does not count on may be the first word of a wrapped line: "... was born on / 12. March".
        if item and (value is None or value == 1 or not found or not number or ended or number <= value <= number + 3):
            number, nested = (value or (below[0] if below else number)), (below[-1] if below else 0)
            found.append((len(item["indent"]), _unmarked(item["text"], bool(item["bold"] and not item["closing"]))))
        elif found and not _NOISE.fullmatch(line) and (not paragraph_over or _belongs(line)):
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}".strip())
        ended = line.rstrip("*_\"')” ").endswith((".", "!", "?", ";", "。"))
        paragraph_over = False if item or not paragraph_over else paragraph_over and not _belongs(line)
    deeper = [index + 1 < len(found) and found[index + 1][0] > one[0] for index, one in enumerate(found)]
    kept = [
        words
        for (_, words), heads in zip(found, deeper, strict=True)
        if not (heads and words.rstrip("*_ ").endswith(":"))
    ]
    return [words for words in map(_unwrapped, kept) if any(map(str.isalnum, words))]


def _belongs(line: str) -> bool:
    return line.startswith(("  ", "\t"))


def _value(item: re.Match[str]) -> int | None:
    digits = item["number"] or item["named"] or item["paren"]
    return int(digits) if digits and digits.isdecimal() else None


def _unmarked(words: str, bold: bool) -> str:
    words = words.strip()
    return words.replace("**", "", 1).replace("__", "", 1) if bold and ("**" in words or "__" in words) else words


def _unwrapped(words: str) -> str:
    """Without the marks that dress a whole item: `**claim**`, `"claim"`."""
    words = words.strip()
    for mark in ("**", "__", '"', "`", "*"):
        if len(words) > 2 * len(mark) and words.startswith(mark) and words.endswith(mark):
            inner = words[len(mark) : -len(mark)]
            words = inner if mark not in inner else words
    return words.strip()
