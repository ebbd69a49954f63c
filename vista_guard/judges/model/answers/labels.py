"""Finds the label that an answer declares, its numbered claims, and its quotes in the evidence.

A label is declared if it opens a line, follows a word such as `CATEGORY:`, or is asserted of the claim without doubt. The
last one wins. Other mentions can make an answer ambiguous, but never a claim VERIFIED.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from vista_guard.reading.passages import quote_of
from vista_guard.types import Evidence, EvidenceSet, Label, Passage, SourceKind, Span

Said = Label | Literal["UNVERIFIABLE"]
"""A label in an answer: one of the five, or the paper's word for every label but the first."""

_CONTEXT = 10
"""Letters around a label (about 12 characters) that mark it as quoted if an untrusted text has them too."""
_MOST = 200
_HARSHNESS = {
    Label.VERIFIED: 0,
    Label.OUT_OF_SCOPE: 1,
    Label.ABSTENTION: 1,
    Label.LACKING_EVIDENCE: 2,
    "UNVERIFIABLE": 2,
    Label.CONTRADICTED: 3,
}
_S = r"[ \t_\-\u2010-\u2015\u2212*`~]{0,3}"
_NO = (
    r"(?:un|non|not|never|cannot|can" + _S + r"not|can['’]?t|couldn['’]?t|isn['’]?t|wasn['’]?t|ain['’]?t|hasn['’]?t"
    r"|neither|nor|hardly|barely|without|unable\sto|fail(?:s|ed)?\sto|no\slonger|nothing|no)"
)
_LABEL = re.compile(
    rf"""(?<![^\W_])(?:
    (?P<unverifiable>{_NO}{_S}(?:(?:yet|fully|be|being|been|directly|entirely|clearly|to|actually|quite){_S}){{0,3}}
        verifi(?:ed|able) | unverifi(?:able|ed) )
    |(?P<verified>verified)
    |(?P<contradicted>contradict(?:ed|ion|ory))
    |(?P<lacking>(?:lack(?:ing|s)?(?:{_S}of)?|insufficient){_S}evidence)
    |(?P<scope>out{_S}of{_S}(?:the{_S})?scope)
    |(?P<abstention>abstention|abstain(?:s|ed|ing)?)
    )(?![^\W_])""",
    re.IGNORECASE | re.VERBOSE,
)
_SAID: dict[str, Said] = {
    "unverifiable": "UNVERIFIABLE",
    "verified": Label.VERIFIED,
    "contradicted": Label.CONTRADICTED,
    "lacking": Label.LACKING_EVIDENCE,
    "scope": Label.OUT_OF_SCOPE,
    "abstention": Label.ABSTENTION,
}
_KEY = (
    r"(?:(?:so|thus|therefore|hence|and|my|the|final|overall|correct|best|appropriate|resulting|chosen|claim['’]s)\W{1,4}){0,4}"
    r"(?:category|label|verdict|classification|answer|result|judge?ment|conclusion|decision|output|response|rating"
    r"|assessment|determination|status|assistant)(?:\s+(?:for|of)\s+(?:the|this)\s+claim)?"
)
_LEAD = re.compile(
    rf"(?:\\?\w{{2,6}}\{{|[\W\d_]|[a-z][.)]){{0,30}}(?P<key>{_KEY}[\W_]{{1,12}}(?:is[\W_]{{1,6}})?)?[\W_]{{0,12}}",
    re.IGNORECASE,
)
_STATED = re.compile(
    r"""\b(?:(?:claim|statement|assertion|it|this|that|answer|label|category|verdict|classification)\W{1,4}
        (?:is|was|has\sbeen|can\sbe|must\sbe)
        |classify|label|mark|rate|categori[sz]e|judge|choose|select|pick|answer|assign)\W{1,4}
        (?:(?:therefore|thus|hence|clearly|fully|indeed|directly|explicitly|classified|labell?ed|considered|categori[sz]ed
        |judged|marked|rated|as|the|this|claim|it|correctly|simply)\W{1,4}){0,4}$""",
    re.IGNORECASE | re.VERBOSE,
)
_DENIED = re.compile(rf"(?:{_STATED.pattern})|\b(?:claim|statement|assertion|it|this|that)\W{{1,4}}$", _STATED.flags)
_DOUBT = re.compile(
    r"""n['’]t\b|\?|\b(?:not?|never|neither|nor|cannot|whether|if|unless|would|could|might|may|should|perhaps|maybe|possibly
    |partial(?:ly)?|partly|mostly|almost|nearly|half|hardly|barely|says?|said|states?|stated|claims|claiming|claimed
    |instruct\w*|tells?|told|asks?|asked|wants?|wanted|demands?|orders?|attempts?|tries|tried|trying|insists?|requests?
    |writes?|wrote|reads?|quot\w*|inject\w*|ignor\w*|rather|instead|without|except|doubt\w*|unclear|unsure|uncertain
    |first|initially|wrong|false|incorrect)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_TAKEN_BACK = re.compile(
    r"\s*\?|[\W_]{0,6}(?:no|not|false|0|never|none|partial(?:ly)?|partly|mostly|in part|but|if|unless|except|wrong|incorrect)\b"
    r"|[\W_]{0,4}(?:is|was|would|cannot|can't|isn't|does)\b",
    re.IGNORECASE,
)
_CROSSED = re.compile(r"(?:!|[¬~✗✘✖❌]\s?)[\W_]?$")
"""Signs before a label that deny it, or strike it out."""
_STOP = re.compile(r"(?<!\be\.g)(?<!\bi\.e)(?<!\bcf)(?<!\bvs)[.!?][\"'”’)*_`]{0,3}\s+")
_DENYING = re.compile(rf"(?<!\w)(?:{_NO}|partial(?:ly)?|partly|mostly|hardly|yet|fully|be)[\W_]*$", re.IGNORECASE)
_ALTERNATIVE = re.compile(r"[\s\W_]{0,6}(?:or|and|vs\.?|versus|/|\||,|&)[\s\W_]{0,6}$", re.IGNORECASE)
_ITEM = re.compile(r"\s*(?:[(\[]?\d{1,2}[.)\]:]|[-*•+])\s*[*_`\"']*\s*$")
_BREAK = re.compile(
    r"^[^\w\n]{0,20}(?:claim\W{0,9}:|background knowledge|reference text|example\W{1,9}\d+|target turn"
    r"|conversation(?: history|\W{1,9}\d+)|(?:user|human|input|question)\W{0,9}:)",
    re.IGNORECASE | re.MULTILINE,
)
_WIDE = {0xFF01 + offset: 0x21 + offset for offset in range(94)}
_INVISIBLE = dict.fromkeys([0x200C, 0x200D, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)], " ")


@dataclass(frozen=True)
class Mention:
    """A label at `start:end` of an answer. `said` is None for an unreadable one."""

    start: int
    end: int
    said: Said | None
    declared: bool
    opens: bool = False
    entry: dict[str, object] = field(default_factory=dict, compare=False)


def declared_label(text: object) -> Said | None:
    """The label in a field: the word itself, or the one declared in a short text."""
    if not isinstance(text, str) or len(text) > 300:
        return None
    named = mentions(text)
    labels = {mention.said for mention in named}
    return named[-1].said if len(labels) == 1 and named[-1].declared else None


def mentions(text: str) -> list[Mention]:
    """The labels in running text, except retracted, doubted, alternative and merely listed ones."""
    text = text.translate(_WIDE).translate(_INVISIBLE)
    mentioned: list[tuple[Mention, bool]] = []
    offset, previous = 0, ""
    for line in text.split("\n"):
        matches = list(_LABEL.finditer(line))
        if len(matches) > _MOST:
            return [Mention(offset, offset + len(line), None, declared=True)]
        for index, match in enumerate(matches):
            earlier = matches[index - 1].end() if index else 0
            later = matches[index + 1] if index + 1 < len(matches) else None
            between = line[match.end() : later.start()] if later else None
            if (index and _ALTERNATIVE.fullmatch(line[earlier : match.start()])) or (
                between is not None and _ALTERNATIVE.fullmatch(between)
            ):
                continue
            wrapped = not any(map(str.isalnum, line[: match.start()])) and _DENYING.search(previous)
            mention = _mention(line, match, offset)
            if mention and mention.said is Label.VERIFIED and wrapped:
                mention = Mention(mention.start, mention.end, None, declared=True)
            if mention:
                mentioned.append((mention, bool(_ITEM.fullmatch(line[: match.start()]))))
        offset, previous = offset + len(line) + 1, line[-40:] if line.strip() else previous
    choices = {mention.said for mention, listed in mentioned if listed}
    return [mention for mention, listed in mentioned if not (listed and len(choices) > 1)]


def _mention(line: str, match: re.Match[str], offset: int) -> Mention | None:
    label = _SAID[match.lastgroup or ""]
    begin = max((stop.end() for stop in _STOP.finditer(line, max(0, match.start() - 400), match.start())), default=0)
    before, after = line[begin : match.start()], line[match.end() : match.end() + 200]
    if _TAKEN_BACK.match(after) and (label is Label.VERIFIED or after.lstrip()[:1] == "?"):
        return None
    if label is Label.VERIFIED and _CROSSED.search(before):
        return None
    capital = match[0].upper() == match[0]
    quoting = _is_quoted(line, match)
    if _opens(line, begin, match) and not quoting:
        follows = after.lstrip(" \t*_`\"'”’")[:1]
        if not follows.isalnum() or (capital and label is not Label.VERIFIED):
            return Mention(offset + match.start(), offset + match.end(), label, declared=True, opens=True)
    sentence = before + re.split(r"[.!](?:\s|$)", after, maxsplit=1)[0]
    if quoting or _DOUBT.search(before if label == "UNVERIFIABLE" else sentence):
        return None
    stated = bool((_DENIED if label == "UNVERIFIABLE" else _STATED).search(before[-120:]))
    if not stated and (not capital or label is Label.VERIFIED):
        return None
    return Mention(offset + match.start(), offset + match.end(), label, declared=stated)


def _opens(line: str, begin: int, match: re.Match[str]) -> bool:
    """True if only markup, a number or a word such as `CATEGORY:` precedes the label in its sentence."""
    before = line[begin : match.start()]
    lead = _LEAD.fullmatch(before) if len(before) < 120 else None
    if lead is None or lead["key"] or not any(character.isalpha() for character in line[:begin]):
        return lead is not None
    # Mid-line, only a one-word sentence is a label: "... so the two agree. VERIFIED".
    return not any(character.isalnum() for character in line[match.end() :])


def _is_quoted(line: str, match: re.Match[str]) -> bool:
    """True if the label is quoted together with other words."""
    before, after = line[: match.start()], line[match.end() :]
    opened = (
        before.count('"') % 2 == 1 or before.count("“") > before.count("”") or before.count("«") > before.count("»")
    )
    if not opened:
        return False
    inside = before[max(before.rfind(mark) for mark in '"“«') + 1 :]
    closing = re.split('["”»]', after, maxsplit=1)[0]
    return any(character.isalnum() for character in inside + closing)


class Untrusted:
    """Texts that must not set a label, compared by letters and digits only."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [letters(text) for text in texts]
        self._near = "\n".join(
            text[max(0, match.start() - 30) : match.end() + 30]
            for text in self._texts
            for match in re.finditer(r"verifi(?:ed|able)|contradict|evidence|outof|abst[ae]", text)
        )

    def hold(self, text: str) -> bool:
        """True if one of them contains the text."""
        words = letters(text)
        return bool(words) and any(words in source for source in self._texts)

    def surrounds(self, text: str, mention: Mention) -> bool:
        """True if one of them contains the label with its surroundings, or its whole line."""
        core = letters(text[mention.start : mention.end])
        if core not in self._near:
            return False
        start, end = text.rfind("\n", 0, mention.start) + 1, text.find("\n", mention.end)
        line = letters(text[start : end if end >= 0 else len(text)][:200])
        if line == core:
            # A label on its own line belongs to the `CATEGORY:` above it.
            above = text[max(0, start - 60) : start].rstrip().rpartition("\n")[2]
            line = letters(above) + line if above.rstrip("*_ ").endswith(":") else line
        if len(line) > len(core) + 2 and line in self._near:
            return True
        left = letters(text[max(0, mention.start - 60) : mention.start])
        right = letters(text[mention.end : mention.end + 60])
        return any(
            left[len(left) - count :] + core + right[: _CONTEXT - count] in self._near
            for count in range(_CONTEXT + 1)
            if len(left) >= count and len(right) >= _CONTEXT - count
        )


def letters(text: str) -> str:
    """Letters and digits, case-folded, so that markup, quotation marks and line ends do not hide a quote."""
    folded = text.translate(_WIDE).casefold()
    return "".join(character for character in folded if character.isalnum())


def deciding_mention(
    text: str, labels: Sequence[Mention], untrusted: Untrusted, breaks: Sequence[int] = ()
) -> Mention | None:
    """The label that counts; None if there is none, or several.

    A text may have further sections, such as an example that the model invented: they must agree.
    """
    edges = sorted({*breaks, *(sign.start() for sign in _BREAK.finditer(text))})
    sections: dict[int, list[Mention]] = {}
    for mention in labels:
        sections.setdefault(bisect_right(edges, mention.start), []).append(mention)
    if len(sections) > _MOST:
        return None
    winners: list[Mention] = []
    for section in sections.values():
        winner, silent = _last_declared(text, section, untrusted)
        if winner is None and not silent:
            return None
        winners += [winner] if winner else []
    return winners[-1] if winners and len({winner.said for winner in winners}) == 1 else None


def _last_declared(text: str, labels: Sequence[Mention], untrusted: Untrusted) -> tuple[Mention | None, bool]:
    """The last declared label; if None, the flag tells whether all labels were quoted."""
    after: list[Mention] = []
    loose: list[Mention] = []
    for mention in reversed(labels):
        foreign = not mention.entry and mention.said is not None and untrusted.surrounds(text, mention)
        if mention.declared and not foreign:
            if mention.said is None:
                return None, False
            harsher = any(_HARSHNESS[later.said] > _HARSHNESS[mention.said] for later in after if later.said)
            # A source may contain the words with which the model retracts a label: quoted, they still cast doubt.
            return (None, False) if harsher else (mention, True)
        after.append(mention)
        loose += [] if foreign else [mention]
        if len(after) > _MOST:
            return None, False
    if not loose:
        return None, True
    agreed = len({mention.said for mention in loose}) == 1 and loose[0].said is not Label.VERIFIED
    return (loose[0], True) if agreed else (None, False)


_NUMBER = r"(?P<number>\d{1,3}|[①-⑳]|[一二三四五六七八九十]{1,3})"
_LIST_ITEM = re.compile(
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
    """True if the answer says that there are no claims."""
    return len(text) < 200 and bool(_NONE.fullmatch(text) or text.strip("` \n") == "[]")


def items(text: str) -> list[str]:
    """The items of a numbered or bulleted list in any style, without headings and surrounding text."""
    entries: list[tuple[int, str]] = []
    paragraph_over, number, nested, ended = False, 0, 0, True
    for line in text.replace("\u3000", " ").split("\n"):
        if not line.strip():
            paragraph_over = True
            continue
        if entries and _NEXT_PROMPT.fullmatch(line):
            break
        item = None if _NOISE.fullmatch(line) else _LIST_ITEM.fullmatch(line)
        value = _item_number(item) if item else None
        below = [int(part) for part in item["nested"].split(".")] if item and item["nested"] else None
        if below and entries and (below[0] not in (number, 0) or below[-1] not in (1, nested + 1)):
            item = None
        # A number out of sequence may begin a wrapped line: "... was born on / 12. March".
        if item and (
            value is None or value == 1 or not entries or not number or ended or number <= value <= number + 3
        ):
            number, nested = (value or (below[0] if below else number)), (below[-1] if below else 0)
            entries.append(
                (len(item["indent"]), _strip_marks(item["text"], bool(item["bold"] and not item["closing"])))
            )
        elif entries and not _NOISE.fullmatch(line) and (not paragraph_over or _is_indented(line)):
            entries[-1] = (entries[-1][0], f"{entries[-1][1]} {line.strip()}".strip())
        ended = line.rstrip("*_\"')” ").endswith((".", "!", "?", ";", "。"))
        paragraph_over = False if item or not paragraph_over else paragraph_over and not _is_indented(line)
    deeper = [index + 1 < len(entries) and entries[index + 1][0] > entry[0] for index, entry in enumerate(entries)]
    texts = [
        words
        for (_, words), heads in zip(entries, deeper, strict=True)
        if not (heads and words.rstrip("*_ ").endswith(":"))
    ]
    return [words for words in map(_unwrap, texts) if any(map(str.isalnum, words))]


def _is_indented(line: str) -> bool:
    return line.startswith(("  ", "\t"))


def _item_number(item: re.Match[str]) -> int | None:
    digits = item["number"] or item["named"] or item["paren"]
    return int(digits) if digits and digits.isdecimal() else None


def _strip_marks(words: str, bold: bool) -> str:
    words = words.strip()
    return words.replace("**", "", 1).replace("__", "", 1) if bold and ("**" in words or "__" in words) else words


def _unwrap(words: str) -> str:
    """The item without marks around all of it: `**claim**`, `"claim"`."""
    words = words.strip()
    for mark in ("**", "__", '"', "`", "*"):
        if len(words) > 2 * len(mark) and words.startswith(mark) and words.endswith(mark):
            inner = words[len(mark) : -len(mark)]
            words = inner if mark not in inner else words
    return words.strip()


LEAST = 4
"""Minimum characters of a quote to search for: shorter ones occur everywhere."""
_SAME = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u00a0": " "})


def place(quote: str, text: str) -> Span | None:
    """Span of the quote in `text`; None if it is not there."""
    words = quote.translate(_SAME).strip().strip("\"'").strip(".…").split()
    if sum(map(len, words)) < LEAST:
        return None
    pattern = r"\s+".join(re.escape(word) for word in words)
    # Translation keeps every character at its place: one for one.
    match = re.search(pattern, text.translate(_SAME), re.IGNORECASE)
    return Span(start=match.start(), end=match.end()) if match else None


_ELLIPSIS = re.compile(r"\s*(?:\[?(?:\.\.\.|…)\]?)\s*")


def find_quotes(quote: str | None, evidence: EvidenceSet) -> list[tuple[Passage, Span]]:
    """Where the quote stands: the first passage that has it, and its span there. Words around "..." may stand in two places.

    Empty if any of its words stand nowhere.
    """
    parts = [part for part in _ELLIPSIS.split(quote or "") if any(map(str.isalnum, part))]
    turns = (
        Passage(source=SourceKind.HISTORY, source_id=f"t{index}", text=turn.text)
        for index, turn in enumerate(evidence.history)
    )
    passages = [*evidence.documents, *evidence.knowledge, *turns]
    found = [
        next(((passage, span) for passage in passages if (span := place(part, passage.text)) is not None), None)
        for part in parts
    ]
    return [pair for pair in found if pair is not None] if None not in found else []


def quoted_evidence(quote: str | None, evidence: EvidenceSet) -> tuple[Evidence, ...]:
    """The evidence that contains the quote, as written there; empty if none does."""
    return tuple(quote_of(passage, 1.0, span) for passage, span in find_quotes(quote, evidence))
