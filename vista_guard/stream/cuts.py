"""Where a text that is still being written may be cut: after sentences, list items, table rows and whole code blocks. Pure.

An end that was found once stays one, however the text goes on and in whatever pieces it comes. So an end needs what
follows it: "3." may become "3.5", "Inc." may go on, and a bracket that is still open may hold more sentences.
"""

from __future__ import annotations

import re

_ENDING = ".!?\u2026\u3002\uff01\uff1f\uff61\uff0e\u061f\u06d4\u0964\u0965\u1362\u104b"
_RUN = re.compile(f"[{_ENDING}]+")
_MAY_END = re.compile(f"[{_ENDING}\n]")
_CLOSER = "\"'\u201d\u2019\u00bb)]}*_`~\u300d\u300f\uff09\u300b"
_ADJACENT = re.compile(f"[{re.escape(_CLOSER)}]*")
_FREE = re.compile(rf"[{re.escape(_CLOSER)}]*(?:\s|\[|\Z)")
_UP_TO_END = re.compile(rf"[{re.escape(_CLOSER)}\[\d\s]*")
_HALF_NOTE = re.compile(r"\s*\[\^?\d*")
_LIKELY = re.compile(rf"[^\W\d][{re.escape(_CLOSER)}]*[{_ENDING}]+[{re.escape(_CLOSER)}]*\s*\Z")
_NUMBER = re.compile(r"\(?\d{1,3}[.)]|[a-zA-Z][.)]")
_FENCE = re.compile(r"[^\S\n]*(?:```|~~~)")
_MAYBE_FENCE = re.compile(r"[^\S\n]*(?:`{0,2}|~{0,2})")
_CLOSING_FENCE = re.compile(r"^[^\S\n]*(?:```|~~~)[^\n]*(?=\n)", re.MULTILINE)
_MARKER = re.compile(r"\s*(?:>\s*)*(?:[-*+\u2022\u2023\u25e6\u2013]\s+|\(?\d{1,3}[.)]\s+|>\s*)")
_WHOLE_LINE = re.compile(r"[^\S\n]*[#|]")
_AMBIGUOUS = "-*+\u2022\u2023\u25e6\u2013>=_(:`~0123456789"
_SAID = re.compile(r"""[.!?:;\u2026\u3002\uff01\uff1f]["'\u201d\u2019)\]*_]*\s*$""")
_NOT_BLANK = re.compile(r"\S")
_WORD = re.compile(r"\w")

_LONG_LINE = 60
"""A line that long, without an end, goes on in the next: prose that was wrapped. The same number as in the judge's rules."""
_PATIENCE = 300
"""Characters after which an open bracket or quotation mark holds nothing back any more: it may be an inch sign or a smile."""
_CONTEXT = 1000
"""Characters before an end that are looked at."""
_GOES_ON = "qzx x` x' x'' x`` x\" x\u00bb x\u201d x\u2019 x\u201a x\u201b x\u201c x\u00ab x\u201f x\u203a x\u300b x\u300d x) x "
"""A continuation that closes whatever is open: an end that survives it survives any other."""

# One character for one, so that offsets hold. Half characters cannot be taken by the splitter.
_SAME_LENGTH = str.maketrans({"\n": " ", "\t": " ", "\r": " ", "\u00a0": " ", "\x00": " "})
_SURROGATES = re.compile("[\ud800-\udfff]")


class Sentences:
    """Finds the ends, as the text grows.

    Args:
        longest: characters after which a text without an end is cut.
    """

    def __init__(self, longest: int) -> None:
        self.ends: list[int] = []
        self._longest = longest
        self._searched = 0
        self._may_end = False
        self._rejected = 0
        """Place up to which no mark ends a sentence, whatever comes."""

    @property
    def last(self) -> int:
        """The last end that was found."""
        return self.ends[-1] if self.ends else 0

    def grow(self, text: str, *, complete: bool = False) -> None:
        """Looks for more ends in `text`, which begins with the text given before. A complete one ends in any case."""
        self._may_end = self._may_end or _MAY_END.search(text, self._searched) is not None
        self._searched = len(text)
        if not (self._may_end or complete or len(text) - self.last >= self._longest):
            return
        while (end := self._next(text, complete)) is not None:
            self.ends.append(end)
        self._may_end = _MAY_END.search(text, self.last) is not None

    def likely(self, text: str) -> int | None:
        """The end of a sentence that only wants the next word to be sure; it may still turn out to be none."""
        if not _LIKELY.search(text, self.last):
            return None
        end = self._next_end(f"{text} Qzx", complete=False)
        return end if end == len(text.rstrip()) else None

    def _next(self, text: str, complete: bool) -> int | None:
        latest = self.last + self._longest
        if len(text) >= latest:
            return self._next_end(text[:latest], complete=False) or latest
        if complete and len(text) == self.last:
            return None
        end = self._next_end(text, complete)
        if end is None or not text[end:].strip():  # space at the very end belongs to the last sentence
            return len(text) if complete else None
        return end

    def _next_end(self, text: str, complete: bool) -> int | None:
        start = self.last
        first = _NOT_BLANK.search(text, start)
        if first is None:
            return None
        line_start = max(text.rfind("\n", 0, first.start()) + 1, start)
        opens_line = not text[text.rfind("\n", 0, first.start()) + 1 : first.start()].strip()
        if opens_line and _FENCE.match(text, line_start):
            return _code_end(text, line_start)
        if opens_line and not complete and _MAYBE_FENCE.fullmatch(text, line_start):
            return None
        if opens_line and _WHOLE_LINE.match(text, line_start):
            newline = text.find("\n", first.start())
            return newline if newline >= 0 else None
        end, known = _block_end(text, first.start(), complete)
        return self._sentence_end(text[start:end], ended=known)

    def _sentence_end(self, block: str, *, ended: bool) -> int | None:
        """The first end of a sentence in the block, or the block's own end; None when it is too early to tell."""
        window = _SURROGATES.sub("\ufffd", block).translate(_SAME_LENGTH)
        for run in _RUN.finditer(window, max(self._rejected - self.last, 0)):
            reach = min(run.end() + _PATIENCE, len(window))
            place = _end_at(window[:reach], run)
            rest = "" if place is None else window[place:].lstrip()
            # Neither "2." nor "so . . . on" has a sentence before it.
            if place is None or _NUMBER.fullmatch(window[:place].strip()) or _RUN.match(rest):
                if reach < len(window):
                    self._rejected = self.last + run.end()
                continue
            if not rest:
                break
            if ended or reach < len(window) or _is_settled(window, run, place):
                return self.last + place
            return None
        return self.last + len(block) if ended else None


def _code_end(text: str, line_start: int) -> int | None:
    opening = text.find("\n", line_start)
    closing = _CLOSING_FENCE.search(text, opening + 1) if opening >= 0 else None
    return closing.end() if closing else None


def _block_end(text: str, position: int, complete: bool) -> tuple[int, bool]:
    """Where the paragraph or list item ends, and whether that is sure; else how far it surely reaches."""
    line = text.rfind("\n", 0, position) + 1
    while True:
        newline = text.find("\n", position)
        if newline < 0:
            return len(text), complete
        goes_on = _goes_on(text, line, newline, complete)
        if not goes_on:
            return newline, goes_on is False
        line = position = newline + 1


def _goes_on(text: str, line: int, newline: int, complete: bool) -> bool | None:
    """Whether the next line goes on with this one's sentence; None when it is too early to tell."""
    if _SAID.search(text[line:newline]):
        return False
    following = text.find("\n", newline + 1)
    whole = complete or following >= 0
    rest = text[newline + 1 : following if following >= 0 else len(text)]
    opener = rest.strip()[:1]
    if not opener:
        return False if whole else None
    if opener in "#|" or _FENCE.match(rest) or _MARKER.match(rest):
        return False
    if not opener.islower() and newline - line < _LONG_LINE:
        return False
    return True if whole or opener not in _AMBIGUOUS else None


def _end_at(window: str, run: re.Match[str]) -> int | None:
    """Where the sentence ends that these marks end, with the quotation marks and brackets that it closes."""
    import sentencex

    at = run.end()
    if run.group()[-1].isascii() and not _FREE.match(window, at):
        return None
    cut = max(0, at - _CONTEXT)
    for boundary in sentencex.get_sentence_boundaries("en", window[cut:]):
        if cut + boundary["end_index"] < at:
            continue
        place = len(window[: cut + boundary["end_index"]].rstrip())
        place = _after_closers(window, max(place, at))
        if not _UP_TO_END.fullmatch(window, at, place):
            return None
        spaced = place == len(window) or window[place].isspace()
        # Without a space only marks of scripts that have none: "www.Example.org" is one word.
        return place if spaced or not run.group()[-1].isascii() else None
    return None


def _after_closers(window: str, place: int) -> int:
    match = _ADJACENT.match(window, place)
    return match.end() if match else place


def _is_settled(window: str, run: re.Match[str], place: int) -> bool:
    rest = window[place:]
    if _HALF_NOTE.fullmatch(rest) or not _WORD.search(rest):
        return False
    return _end_at(window + _GOES_ON, run) == place
