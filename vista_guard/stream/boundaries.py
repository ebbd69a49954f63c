"""Safe boundaries in a growing text: ends of sentences, list items, table rows and whole code blocks.

A boundary once found stays one, however the text continues, so it needs the text that follows: "3." may become "3.5".
"""

from __future__ import annotations

import re
from bisect import bisect_left

import sentencex

from vista_guard.reading.canonical import struck
from vista_guard.reading.markdown import ENDED, LONG_LINE
from vista_guard.reading.passages import belongs_to_number

_ENDING = ".!?\u2026\u3002\uff01\uff1f\uff61\uff0e\u061f\u06d4\u0964\u0965\u1362\u104b"
_RUN = re.compile(f"[{_ENDING}]+")
_MAY_END = re.compile(f"[{_ENDING}\n]")
_CLOSER = "\"'\u201d\u2019\u00bb)]}*_`~\u300d\u300f\uff09\u300b"
_ADJACENT = re.compile(f"[{re.escape(_CLOSER)}]*")
_FREE = re.compile(rf"[{re.escape(_CLOSER)}]*(?:\s|\[|\Z)")
_AND_ANOTHER = re.compile(rf"[{re.escape(_CLOSER)}]*\s*[{_ENDING}]")
_UP_TO_END = re.compile(rf"[{re.escape(_CLOSER)}\[\d\s]*")
_HALF_NOTE = re.compile(r"\s*\[\^?\d*")
_LIKELY = re.compile(rf"[^\W\d][{re.escape(_CLOSER)}]*[{_ENDING}]+[{re.escape(_CLOSER)}]*\s*\Z")
_NUMBER = re.compile(r"\(?\d{1,3}[.)]|[a-zA-Z][.)]")
_FENCE = re.compile(r"[^\S\n]*(?:```|~~~)")
_MAYBE_FENCE = re.compile(r"[^\S\n]*(?:`{0,2}|~{0,2})")
_CLOSING_FENCE = re.compile(r"^[^\S\n]*(?:```|~~~)[^\n]*(?=\n)", re.MULTILINE)
_MARKER = re.compile(r"\s*(?:>\s*)*(?:[-*+\u2022\u2023\u25e6\u2013]\s+|\(?\d{1,3}[.)]\s+|>\s*)")
_ROW = re.compile(r"[^\S\n]*\|")
_MAY_BE_ROW = re.compile(r"[^\S\n]*(?:\||\Z)")
_TABLE_RULE = re.compile(r"[\s|:-]*-[\s|:-]*")
_WHOLE_LINE = re.compile(r"[^\S\n]*[#|]")
_AMBIGUOUS = "-*+\u2022\u2023\u25e6\u2013>=_(:`~0123456789"
_NOT_BLANK = re.compile(r"\S")
_WORD = re.compile(r"\w")

_PATIENCE = 300
"""Characters after which an open bracket or quotation mark holds nothing back any more: it may be an inch sign or a smile."""
_CONTEXT = 1000
"""Characters before an end that are searched."""
_WINDOW = 2000
"""Characters of a block that are searched first; twice as many each time they do not suffice."""
_TAIL = 200
"""Characters at the end of the text that say whether a sentence most likely ended."""
_CLOSERS = ["`", "'", "''", "``", '"', "»", "”", "’", "‚", "‛", "“", "«", "‟", "›", "》", "」", ")"]
_GOES_ON = f"qzx {' '.join(f'x{closer}' for closer in _CLOSERS)} x ", *(f"qzx x{closer}" for closer in _CLOSERS)
"""Continuations that close whatever is open: all of it, and each kind alone, since a bracket that closes later can undo what a
quotation mark closed. An end that survives them survives any other."""
_MAY_OPEN = re.compile(r"[^\w\s.,;:!?%/-]")
_SHORTEST = 40
"""Characters of a sentence, at the least and on average: a text of shorter ones is not cut after each."""
_FEWEST = 100
"""Sentences that are cut whatever their length."""

# One character for one, so that offsets hold. Half characters cannot be taken by the splitter.
_SAME_LENGTH = str.maketrans({"\n": " ", "\t": " ", "\r": " ", "\u00a0": " ", "\x00": " "})
_SURROGATES = re.compile("[\ud800-\udfff]")


class Sentences:
    """Finds the ends, as the text grows. After `longest` characters a text without an end is cut.

    After more sentences than so many characters plausibly hold, only this cut ends one.
    """

    def __init__(self, longest: int) -> None:
        self.ends: list[int] = []
        self._longest = longest
        self._most = max(longest // _SHORTEST, _FEWEST)
        self._searched = 0
        self._may_end = False
        self._rejected = 0
        """Place up to which no mark ends a sentence, whatever comes."""
        self._refused = 0
        """Marks that the splitter was asked about in vain, in the sentences before; those that a piece later it would not have
        been asked about, because an end was near, are not among them."""
        self._vain: list[int] = []
        """Where such marks are in this sentence."""
        self._lines = 0
        """Where the line begins up to which a paragraph or code block surely goes on."""

    @property
    def last(self) -> int:
        return self.ends[-1] if self.ends else 0

    @property
    def _full(self) -> bool:
        return max(len(self.ends), self._refused) >= self._most

    def grow(self, text: str, *, complete: bool = False, most: int | None = None) -> bool:
        """Looks for more ends in `text`, which begins with the text given before. A complete one ends in any case.

        True if it stopped because it found `most`: there may be more.
        """
        self._may_end = self._may_end or _MAY_END.search(text, self._searched) is not None
        self._searched = len(text)
        if not (self._may_end or complete or len(text) - self.last >= self._longest):
            return False
        before, text = len(self.ends), self._without_struck(text)
        while (end := self._next(text, complete)) is not None:
            self.ends.append(end)
            self._lines = 0
            self._refused += bisect_left(self._vain, end - _PATIENCE)
            self._vain.clear()
            if len(self.ends) - before == most:
                return True
        self._may_end = _MAY_END.search(text, self.last) is not None
        return False

    def likely(self, text: str) -> int | None:
        """The end of a sentence that needs only the next word to be sure; it may still turn out to be none."""
        if self._full or len(text) - self.last >= self._longest:
            return None
        if not _LIKELY.search(text, max(self.last, len(text) - _TAIL)):
            return None
        end = self._next_end(f"{text[self._line_start(text) :]} Qzx", self._line_start(text), complete=False)
        return end if end == self.last + len(text[self.last :].rstrip()) else None

    def _next(self, text: str, complete: bool) -> int | None:
        latest = self.last + self._longest
        if self._full:
            return latest if len(text) >= latest else len(text) if complete and len(text) > self.last else None
        cut = self._line_start(text)
        if len(text) >= latest:
            return self._next_end(text[cut:latest], cut, complete=False) or latest
        if complete and len(text) == self.last:
            return None
        end = self._next_end(text[cut:], cut, complete=complete)
        if end is None or not _NOT_BLANK.search(text, end):  # space at the very end belongs to the last sentence
            return len(text) if complete else None
        return end

    def _without_struck(self, text: str) -> str:
        """The text behind the last end with letters for all that is struck, which has no ends inside; the length stays the same.

        What is not closed yet may still be struck.
        """
        start, latest = self._line_start(text), self.last + self._longest
        behind = text[start:latest]
        ranges = list(struck(behind, open_too=True))
        for begin, end in ranges:
            behind = f"{behind[:begin]}{'x' * (end - begin)}{behind[end:]}"
        return f"{text[:start]}{behind}{text[latest:]}" if ranges else text

    def _line_start(self, text: str) -> int:
        """Start of the line that holds the last end, or as far before that end as matters."""
        start = max(self.last - _TAIL, 0)
        return max(text.rfind("\n", start, self.last) + 1, start)

    def _next_end(self, text: str, cut: int, *, complete: bool) -> int | None:
        """The first end after the last one, a place in the turn; `text` is the turn from `cut` on."""
        start = self.last - cut
        first = _NOT_BLANK.search(text, start)
        if first is None:
            return None
        before = text.rfind("\n", 0, first.start()) + 1
        opens_line = not text[before : first.start()].strip()
        line_start = max(before, start)
        if opens_line and _FENCE.match(text, line_start):
            return _turn_place(self._code_end(text, cut, line_start), cut)
        if opens_line and not complete and _MAYBE_FENCE.fullmatch(text, line_start):
            return None
        if opens_line and _WHOLE_LINE.match(text, line_start):
            return _turn_place(_line_end(text, first.start()), cut)
        end, known = self._block_end(text, cut, first.start(), complete)
        return self._sentence_end(text[start:end], ended=known)

    def _code_end(self, text: str, cut: int, line_start: int) -> int | None:
        opening = text.find("\n", line_start)
        if opening < 0:
            return None
        closing = _CLOSING_FENCE.search(text, max(opening + 1, self._lines - cut))
        if closing is None:
            # The last line may yet become the closing one.
            self._lines = cut + max(text.rfind("\n", 0, len(text)) + 1, opening + 1)
        return closing.end() if closing else None

    def _block_end(self, text: str, cut: int, position: int, complete: bool) -> tuple[int, bool]:
        """Where the paragraph or list item ends, and whether that is sure; else how far it surely reaches."""
        line = max(text.rfind("\n", 0, position) + 1, self._lines - cut)
        position = max(position, line)
        while True:
            newline = text.find("\n", position)
            if newline < 0:
                return len(text), complete
            goes_on = _goes_on(text, line, newline, complete)
            if not goes_on:
                return newline, goes_on is False
            line = position = newline + 1
            if not complete and text.find("\n", line) >= 0:
                self._lines = cut + line

    def _sentence_end(self, block: str, *, ended: bool) -> int | None:
        """The first end of a sentence in the block, or the block's own end; None when it is too early to tell.

        Searches no more of the block than it needs.
        """
        size = max(_WINDOW, 2 * (self._rejected - self.last))
        while size < len(block):
            place, sure = self._end_within(block[:size], ended=ended, whole=False)
            if sure:
                return _turn_place(place, self.last)
            size *= 2
        return _turn_place(self._end_within(block, ended=ended, whole=True)[0], self.last)

    def _end_within(self, block: str, *, ended: bool, whole: bool) -> tuple[int | None, bool]:
        """The end, and whether more of the block would say the same. Without `whole` the block goes on."""
        window = _SURROGATES.sub("\ufffd", block).translate(_SAME_LENGTH)
        undecided: list[re.Match[str]] = []
        for run in _RUN.finditer(window, max(self._rejected - self.last, 0)):
            reach = min(run.end() + _PATIENCE, len(window))
            if not whole and reach == len(window):
                return None, False
            if self._refused + bisect_left(self._vain, self.last + run.end() - _PATIENCE) >= self._most:
                return None, True
            another = _AND_ANOTHER.match(window, run.end())
            # Decided without the splitter, which would be asked about each of many dots and spaces.
            place = None if another and another.end() <= reach else _end_at(window[:reach], run)
            rest = "" if place is None else window[place : reach + 1].lstrip()
            # Neither "2." nor "so . . . on" has a sentence before it.
            if place is None or _NUMBER.fullmatch(window[:place].strip()) or _RUN.match(rest):
                if reach < len(window):
                    self._rejected = self.last + run.end()
                    if another is None:
                        self._vain.append(self._rejected)
                elif place is None and another is None:
                    undecided.append(run)
                continue
            if not rest and not (rest := window[place:].lstrip()):
                break
            if _RUN.match(rest):
                continue
            if ended or reach < len(window) or _is_settled(window, undecided, run, place):
                return place, True
            return None, True
        return len(block) if ended else None, whole


def _line_end(text: str, start: int) -> int | None:
    """The end of a heading or a row; of a table's header that of its first row, by which the header is read."""
    end, newline = text.find("\n", start), text.rfind("\n", 0, start)
    if end < 0:
        return None
    if text[start] != "|" or (newline >= 0 and _ROW.match(text, text.rfind("\n", 0, newline) + 1)):
        return end
    for _ in range(2):  # The rule, and the row behind it.
        following = text.find("\n", end + 1)
        if following < 0:
            return None if _MAY_BE_ROW.match(text, end + 1) else end
        if not _ROW.match(text, end + 1):
            return end
        begin, end = end + 1, following
        if not _TABLE_RULE.fullmatch(text, begin, end):
            return end
    return end


def _turn_place(place: int | None, cut: int) -> int | None:
    return None if place is None else cut + place


def _goes_on(text: str, line: int, newline: int, complete: bool) -> bool | None:
    """True if the next line continues this line's sentence; None when it is too early to tell."""
    if ENDED.search(text[max(line, newline - _TAIL) : newline]):
        return False
    following = text.find("\n", newline + 1)
    whole = complete or following >= 0
    rest = text[newline + 1 : following if following >= 0 else len(text)]
    opener = rest.lstrip()[:1]
    if not opener:
        return False if whole else None
    if opener in "#|" or _FENCE.match(rest) or _MARKER.match(rest):
        return False
    if not opener.islower() and newline - line < LONG_LINE:
        return False
    return True if whole or opener not in _AMBIGUOUS else None


def _end_at(window: str, run: re.Match[str]) -> int | None:
    """End of the sentence that these marks close, with its closing quotation marks and brackets."""
    at = run.end()
    if run.group()[-1].isascii() and not _FREE.match(window, at):
        return None
    if belongs_to_number(window, at):
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


def _is_settled(window: str, undecided: list[re.Match[str]], run: re.Match[str], place: int) -> bool:
    """True if the marks end the sentence there, and none of the marks before them does, however the text goes on."""
    rest = window[place:]
    if belongs_to_number(window, run.end(), so_far=True):
        return False
    if _HALF_NOTE.fullmatch(rest) or not _WORD.search(rest):
        return False
    is_open = _MAY_OPEN.search(window, max(0, run.end() - _CONTEXT), run.end())
    longer = [window + continuation for continuation in (_GOES_ON if is_open else _GOES_ON[:1])]
    return all(_end_at(text, run) == place for text in longer) and not any(
        _end_at(text, earlier) for text in longer for earlier in undecided
    )
