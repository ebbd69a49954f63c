"""Links, pictures and scripts in Markdown, HTML and plain text: where each leads, and what to cut to be rid of it. Pure.

Whoever shows the turn may read it as Markdown, as HTML or as plain text, so it is read as all three at once, and what any of them
would follow counts. Addresses are read as browsers read them (WHATWG URL, by pydantic's parser): through entities, escapes, tabs,
backslashes, full-width letters and user names. Takes linear time. `html.parser` searches anew from each tag that never ends, and
markdown-it-py gives no places of links.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Literal, NamedTuple

from pydantic_core import Url

from vista_guard.reading.canonical import as_written, canonical, replace_ranges
from vista_guard.reading.markdown import line_end
from vista_guard.types import Document, Span

Kind = Literal["link", "embed", "script"]

_RUNS = frozenset({"javascript", "vbscript", "data"})
"""Schemes whose address is a program or a page of its own."""
_FETCHED = frozenset({"http", "https", "ftp", "ws", "wss"})
"""Schemes that browsers complete: `https:host` and `https:\\\\host` are `https://host`."""
_INNER = re.compile(r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*+:[\\/]{2}", re.IGNORECASE)
_AT = re.compile(r"(?:@|%40)([\w.-]+)")
_RAW = frozenset(
    {"form", "iframe", "noembed", "noframes", "noscript", "object", "script", "style", "template", "textarea", "xmp"}
)
"""Elements that go with all that they hold."""
_CLICKED = frozenset({"a", "area", "form", "button", "input", "base", "blockquote", "q", "ins", "del"})
"""Elements whose address waits for the reader."""

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*+):", re.IGNORECASE)
_ALIKE_SLASHES = re.compile(r"[\\/]{2}")
_BEFORE_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*\Z", re.IGNORECASE)
_LONGEST_SCHEME = 32
_STRIPPED = "".join(map(chr, range(33)))
_BREAKS = str.maketrans("", "", "\t\n\r")


def _tag(value: str, inside: str = "<>") -> re.Pattern[str]:
    """A tag with quoted values like `value`. The characters `inside` are in no other part of it."""
    attributes = rf"(?:[^{inside}=]++|=\s*+(?:{value}|[^\s\"'{inside}][^\s{inside}]*+)?+)*+"
    return re.compile(rf"<(?P<name>[a-z][^\s/{inside}]*+)(?P<attributes>{attributes})(?P<closed>>?)", re.IGNORECASE)


_QUOTED = """\"[^\"]*+\"|'[^']*+'"""
_TAG = _tag(_QUOTED)
"""Where a quotation mark is never closed, Markdown sees no tag, and those behind it are tags."""
_GROWING_TAG = _tag("""\"[^\"]*+(?:\"|\\Z)|'[^']*+(?:'|\\Z)""")
_LOOSE_TAG = _tag(_QUOTED, ">")
"""To browsers, what looks like the next tag is part of one that is not closed."""
_LONGEST_LOOSE = 2000
"""Characters in which a browser's tag is closed."""
_ATTRIBUTE = re.compile(r"""([^\s/>="']+)(?:\s*=\s*("[^"]*"?|'[^']*'?|[^\s>]*))?""")
_AUTOLINK = re.compile(
    r"<(?:(?P<scheme>[a-z][a-z0-9+.-]{1,31}):[^\s<>]*+|[\w.+-]++@[\w-]++(?:\.[\w-]++)++)>", re.IGNORECASE
)
_COMMAND = re.compile(r"\\(?:href|url)\s*+\{([^{}]*+)(?:\}|\Z)")
"""An address in LaTeX, which readers of Markdown show too."""
_CSS_ESCAPE = re.compile(r"\\(?:([0-9a-f]{1,6})\s?|(.))", re.IGNORECASE | re.DOTALL)
_PIECES = re.compile(r"[^\s,;='\"()<>]+")
"""Pieces of an attribute or style sheet that may be addresses: of `srcset`, `0;url=…`, `url(…)`, `@import "…"`."""
_SPACE = re.compile(r"\s")
_NOT_BLANK = re.compile(r"\S")
_SHOWN = 200
"""Characters of a script that stand for it."""

_IN_DEST = r"(?:\\\S|[^\s\\()]|\((?:\\\S|[^\s\\()])*+\))"
_DEST = rf"(?:<(?P<angle>[^<>\n]*+)>|(?P<dest>(?!<){_IN_DEST}++))"
_TITLE = r"""(?:\s++(?:"(?:\\.|[^"\\]){0,999}+"|'(?:\\.|[^'\\]){0,999}+'|\((?:\\.|[^)\\]){0,999}+\)))?+"""
_INLINE = re.compile(rf"\]\(\s*+{_DEST}(?P<rest>{_TITLE}\s*+\))?")
_DEFINITION = re.compile(
    rf"^[ \t>*+\-\d.)]*+(?P<start>\[)(?P<label>(?:\\.|[^\[\]\\])++)\]:\s*+{_DEST}(?:{_TITLE}[ \t]*+$)?", re.MULTILINE
)
_BRACKET = re.compile(r"\\.|[\[\]]", re.DOTALL)
_ROUND = re.compile(r"[()]")
_LONGEST = 1000
"""Characters of an address that are looked through for its end."""
_MD_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_USE = re.compile(r"!?\[(?P<text>(?:\\.|[^\[\]\\])*+)\](?:\[(?P<label>(?:\\.|[^\[\]\\])*+)\])?+(?![(:])")
_MAYBE_INLINE = re.compile(r"\](?:\(|\Z)")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
_OPEN_DEFINITION = re.compile(r"^[ \t>*+\-\d.)]*+\[(?:\\.|[^\[\]\\])++(?:\]:?\s*+[^\n]*+)?\Z", re.MULTILINE)

_FULL_URL = re.compile(r":[\\/]{2}")
_MAILTO = re.compile(r"(?:mailto|xmpp):[^\s<>\"`]++", re.IGNORECASE)
_URL_END = re.compile(r"[\s<>\"`]")
_HOST = r"(?:[\w-]{1,63}\.)++(?:[a-z]{2,63}|xn--[\w-]++)"
_PATH = r"\?[^\s<>\"`]{0,300}\w|[/\\][^\s<>\"`]{0,300}(?:[\d_-]|[/\\?=&%]\w)"
"""The part behind a host without a scheme that carries words. `Node.js/Express` and "Node.js? No" are no addresses."""
_NUMBERS = r"\d{1,3}(?:\.\d{1,3}){3}(?::\d++)?+(?=[/?][^\s<>\"`]{0,300}[a-z])"
"""`10.0.0.0/8` is no address."""
_BARE = re.compile(
    rf"(?<![\w@/\\.:-])(?:www\.{_HOST}|:?[\\/]{{2,}}+{_HOST}(?=[:/?#\\])|{_HOST}(?::\d++)?+(?={_PATH})|{_NUMBERS})[^\s<>\"`]*+",
    re.IGNORECASE,
)
_COMPLETE = re.compile(rf"(?:[a-z][a-z0-9+.-]*+:)?[\\/]{{2}}|{_MAILTO.pattern}", re.IGNORECASE)
"""The beginning of an address that is complete without `https://`. `host:8080/path` has none."""
_LAST_MARKS = "?!.,:;*_~'\"]}|…"
_MAY_LINK = re.compile(
    r"[\\/]{2}|mailto:|xmpp:|\\(?:href|url)|\]\s*[(:]|<[a-z]|www\.|\w\.\w+[/\\:?]|[&：／．%]", re.IGNORECASE
)

_FENCE = re.compile(
    r"^[ \t>]*+(?P<fence>`{3,}|~{3,})[^\n]*+\n(?:.*?^[ \t>]*+(?P=fence)[^\n]*+$|.*)", re.MULTILINE | re.DOTALL
)
_CODE_SPAN = re.compile(r"\\.|(?P<run>`++)(?P<code>[^`\n|]++)(?P=run)(?!`)")

_NAME = re.compile(r"(?<![\w-])[\w-]++(?:\.[\w-]++)++")
_AUTHORITY = re.compile(r"[\\/]{2}(?:[^\s/?#@\\]*+@)?(\[[\da-f:.]++\]|[\w.-]++)", re.IGNORECASE)
_HIDDEN = re.compile("%[23]|&[#a-z]|\\\\.|[\u00ad\u200b-\u200f\u2060\ufeff]")
"""Signs that a host is spelt differently: entities, escapes, invisible characters."""
_PAIRS = frozenset({"()", "[]", "``", '""', "“”"})
_SAYS = re.compile(r"\w")
_AROUND = re.compile(r"[ \t>]*(?:[-*+•–]|\(?\w{1,3}[.)]|#{1,6})?[ \t*_~|]*")


@dataclass(frozen=True)
class Reference:
    """One address of a text. `host` is "" where it has none and still does something: a script, `javascript:`, `data:`.

    `cuts` are the ranges that it goes with; what is between them is shown without it.
    """

    address: str
    host: str
    kind: Kind
    cuts: tuple[tuple[int, int], ...]
    label: str | None = None
    """Of a definition `[label]: address`."""


def hosts_of(address: str) -> list[str]:
    """The hosts that an address leads to: none for a relative one, "" for a program, the domains of a `mailto:`.

    Of an address in another one, as in `blob:https://…`, its own too.
    """
    address = address.translate(_BREAKS).strip(_STRIPPED)
    if _ALIKE_SLASHES.match(address):
        address = f"https:{address}"
    scheme = _SCHEME.match(address)
    if scheme is None:
        return []
    name, rest = scheme[1].lower(), address[scheme.end() :]
    if name in _RUNS:
        return [""] if name != "data" or "," in rest else []
    if name in _FETCHED or _ALIKE_SLASHES.match(rest):
        return [host] if (host := _host(address)) else []
    inner = _INNER.search(rest)
    return [*([_host(rest[inner.start() :])] if inner else ()), *map(host_name, _AT.findall(rest))]


def _host(address: str) -> str:
    try:
        return host_name(Url(address).host or "")
    except ValueError:
        # No browser follows it; another program might, and take anything for the host.
        rest = re.split(r"[/?#\\\s]", re.sub(r"^[^/\\]*[/\\]+", "", address), maxsplit=1)[0]
        return host_name(rest.rpartition("@")[2].partition(":")[0])


def host_name(name: str) -> str:
    """The name by which hosts are compared: small letters, in ASCII, without `www.` and the last dot."""
    name = name.lower().strip("._-")
    if not name.isascii() or name.startswith("["):
        try:
            name = Url(f"https://{name}").host or name
        except ValueError:
            return name
    return name.removeprefix("www.")


def is_listed(host: str, patterns: Sequence[str]) -> bool:
    """True if a host, as `host_name` gives it, is among these. `*.example.org` is any host below it, and not it itself."""
    below = tuple(f".{host_name(pattern[2:])}" for pattern in patterns if pattern.startswith("*."))
    return host.endswith(below) or host in map(host_name, patterns)


def hosts_in(texts: Iterable[str]) -> set[str]:
    """The hosts that texts name: in addresses, in e-mail addresses, or as words."""
    found = set[str]()
    for text in texts:
        hidden = (word for word in text.split() if _HIDDEN.search(word)) if _HIDDEN.search(text) else ()
        for written in (text, *(canonical(_MD_ESCAPE.sub(r"\1", word)).text for word in hidden)):
            found.update(map(host_name, _NAME.findall(written)))
            found.update(map(host_name, _AUTHORITY.findall(written)))
    return found


def document_texts(document: Document) -> Iterator[str]:
    """All of a document that can name a host."""
    yield from (document.id, document.title or "", document.url or "", document.text)
    yield json.dumps(document.metadata, ensure_ascii=False)


def references(text: str) -> list[Reference]:
    """Everything in the text that has an address or runs, in order. Relative addresses are left out."""
    if not _MAY_LINK.search(text):
        return []
    found = [*_in_tags(text), *_in_markdown(text), *_in_commands(text)]
    found += _bare(text, found)
    if (read := canonical(text)).text != text:
        hidden = _bare(read.text, [])
        places = [read.span(*reference.cuts[0]) for reference in hidden]
        known = _Ranges(cut for reference in found for cut in reference.cuts)
        found += [
            Reference(one.address, one.host, one.kind, ((place.start, place.end),))
            for one, place in zip(hidden, places, strict=True)
            if not known.touch(place.start, place.end)
        ]
    return sorted(found, key=lambda reference: reference.cuts[0])


class _Ranges:
    """Ranges that may overlap, to be asked about."""

    def __init__(self, ranges: Iterable[tuple[int, int]]) -> None:
        self._ranges = merged(ranges)
        self._starts = [start for start, _ in self._ranges]

    def touch(self, start: int, end: int) -> bool:
        before = bisect_right(self._starts, max(end - 1, start))
        return before > 0 and self._ranges[before - 1][1] > start


def merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The ranges in order, those that touch as one."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _in_tags(text: str) -> Iterator[Reference]:
    """Autolinks, and tags with an address or a script. Programs shown as code are none, unless the text has other tags."""
    tags = list(_tags(text))
    for match in _AUTOLINK.finditer(text):
        address = match.group()[1:-1] if match["scheme"] else f"mailto:{match.group()[1:-1]}"
        yield from (Reference(address, host, "link", (match.span(),)) for host in hosts_of(address))
    shown_as_code, ends = _are_code(text, tags), _Ends(text)
    for match in tags:
        targets = _targets(match["name"].lower(), match["attributes"], ends, match.end())
        found = [target for target in targets if not (shown_as_code and target.shown)]
        cuts = _tag_cuts(match, ends) if found else ()
        yield from (Reference(target.address, target.host, target.kind, cuts) for target in found)


def _tags(text: str) -> Iterator[re.Match[str]]:
    """Tags; those that others see end without being closed as browsers read them, with all that looks like tags inside."""
    read = 0
    for match in _TAG.finditer(text):
        if match["closed"] or match.start() < read:
            if not _AUTOLINK.match(text, match.start()):
                yield match
            continue
        loose = _LOOSE_TAG.match(text, match.start(), match.start() + _LONGEST_LOOSE)
        read = loose.end() if loose else read
        yield loose if loose and loose["closed"] else match


class _Target(NamedTuple):
    address: str
    host: str
    kind: Kind
    shown: bool = False
    """True for a program without an address, which does nothing where it is shown as code."""


class _Ends:
    """The tags that close elements, found once for each name."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._places: dict[str, list[tuple[int, int]]] = {}

    def of(self, name: str, start: int) -> tuple[int, int]:
        """Where the tag that closes an element begins and ends; the end of the text twice, where none does."""
        if name not in self._places:
            closing = re.compile(rf"</{re.escape(name)}(?=[\s/>])[^>]*+>?", re.IGNORECASE)
            self._places[name] = [match.span() for match in closing.finditer(self.text)]
        places = self._places[name]
        number = bisect_left(places, (start, start))
        return places[number] if number < len(places) else (len(self.text), len(self.text))


def _targets(name: str, attributes: str, ends: _Ends, end: int) -> Iterator[_Target]:
    kind: Kind = "link" if name in _CLICKED else "script" if name == "script" else "embed"
    for attribute, written in _ATTRIBUTE.findall(attributes):
        value = unescape(written.strip("\"'"))
        if attribute[:2].lower() == "on" and value.strip():
            yield _Target(value, "", "script", shown=True)
        yield from _targets_in(value, kind, css=attribute.lower() == "style" or "(" in value)
        if "<" in value:  # a page of its own, as in `srcdoc`
            yield from _targets_of_page(value)
    if name in ("script", "style"):
        stop = ends.of(name, end)[0]
        if name == "style":
            yield from _targets_in(ends.text[end:stop], "embed", css=True)
        elif said := _NOT_BLANK.search(ends.text, end, stop):
            yield _Target(ends.text[said.start() : min(stop, said.start() + _SHOWN)], "", "script", shown=True)


def _targets_of_page(markup: str) -> Iterator[_Target]:
    ends = _Ends(markup)
    for match in _TAG.finditer(markup):
        yield from _targets(match["name"].lower(), match["attributes"], ends, match.end())


def _targets_in(value: str, kind: Kind, *, css: bool) -> Iterator[_Target]:
    """The addresses in an attribute's value or a style sheet: all of it, or a piece."""
    plain = _CSS_ESCAPE.sub(_css_character, value) if css and "\\" in value else value
    for written in dict.fromkeys((value, plain)):
        whole = hosts_of(written)
        pieces = () if whole and not _SPACE.search(written.strip()) else _PIECES.findall(written)
        for address in dict.fromkeys((written, *pieces)):
            yield from (_Target(address, host, kind) for host in hosts_of(address))


def _css_character(match: re.Match[str]) -> str:
    code = int(match[1], 16) if match[1] else 0
    return match[2] or (chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else "\ufffd")


def _tag_cuts(match: re.Match[str], ends: _Ends) -> tuple[tuple[int, int], ...]:
    """The tag with all it holds, or the tag and the one that closes it."""
    name = match["name"].lower()
    if not match["closed"]:  # the rest of its line: what follows may be text to those who read Markdown
        return ((match.start(), min(line_end(ends.text, match.start()), match.end())),)
    if name not in _RAW and match["attributes"].endswith("/"):
        return (match.span(),)
    inner, end = ends.of(name, match.end())
    if name in _RAW:
        return ((match.start(), end),)
    return (match.span(),) if inner == end else (match.span(), (inner, end))


def _are_code(text: str, tags: Sequence[re.Match[str]]) -> bool:
    """True if all tags stand in code, so that whoever reads Markdown shows them as written."""
    code = _Ranges(_code_places(text)) if tags else None
    return code is not None and all(code.touch(*match.span()) for match in tags)


def _code_places(text: str) -> list[tuple[int, int]]:
    fences = [match.span() for match in _FENCE.finditer(text)]
    fenced = _Ranges(fences)
    spans = (match.span() for match in _CODE_SPAN.finditer(text) if match["run"])
    return [*fences, *(span for span in spans if not fenced.touch(*span))]


def _in_markdown(text: str) -> Iterator[Reference]:
    if "](" not in text and "]:" not in text:
        return
    openings = _openings(text)
    for match in _INLINE.finditer(text):
        found = list(_destinations(match))
        if found:
            end = match.end() if match["rest"] else _bracket_end(text, match.start() + 1, match.end())
            yield from _bracketed(text, found, (match.start(), end), openings.get(match.start()))
    for match in _DEFINITION.finditer(text):
        line = text.rfind("\n", 0, match.start("start")) + 1
        start = line if not text[line : match.start("start")].strip() else match.start("start")
        label = _label(match["label"])
        for address, host in _destinations(match):
            yield Reference(address, host, "link", ((start, line_end(text, match.end())),), label)


def _in_commands(text: str) -> Iterator[Reference]:
    for match in _COMMAND.finditer(text):
        yield from (Reference(match[1], host, "link", (match.span(),)) for host in hosts_of(match[1]))


def _bracket_end(text: str, opening: int, otherwise: int) -> int:
    """Where a round bracket is closed on its line: an address may have spaces, or brackets in brackets."""
    depth = 0
    for match in _ROUND.finditer(text, opening, min(line_end(text, otherwise), opening + _LONGEST)):
        depth += 1 if match.group() == "(" else -1
        if depth == 0:
            return match.end()
    return otherwise


def _bracketed(
    text: str, found: Sequence[tuple[str, str]], destination: tuple[int, int], opening: int | None
) -> Iterator[Reference]:
    kind: Kind = "link"
    cuts: tuple[tuple[int, int], ...] = (destination,)
    if opening is not None and text[opening - 1 : opening] == "!":
        kind, cuts = "embed", ((opening - 1, destination[1]),)
    elif opening is not None:
        cuts = ((opening, opening + 1), destination)
    yield from (Reference(address, host, kind, cuts) for address, host in found)


def _destinations(match: re.Match[str]) -> Iterator[tuple[str, str]]:
    """The address as browsers get it from either kind of reader: with Markdown's escapes, or without."""
    written = unescape(match["angle"] if match["angle"] is not None else match["dest"])
    for address in dict.fromkeys((_MD_ESCAPE.sub(r"\1", written), written)):
        yield from ((address, host) for host in hosts_of(address))


def _openings(text: str) -> dict[int, int]:
    """The place of the bracket that each closing bracket closes."""
    places, open_brackets = dict[int, int](), list[int]()
    for match in _BRACKET.finditer(text):
        if match.group() == "[":
            open_brackets.append(match.start())
        elif match.group() == "]" and open_brackets:
            places[match.start()] = open_brackets.pop()
    return places


def _label(text: str) -> str:
    return " ".join(text.split()).casefold()


def _bare(text: str, known: Sequence[Reference]) -> list[Reference]:
    """Addresses in plain text that are no part of a link found already."""
    taken = _Ranges(cut for reference in known for cut in reference.cuts)
    found = []
    for start, end in _bare_places(text):
        end = start + len(_trimmed(text[start:end]))
        address = unescape(text[start:end])
        full = address.lstrip(":") if _COMPLETE.match(address.lstrip(":")) else f"https://{address}"
        if not taken.touch(start, end):
            found += [Reference(address, host, "link", ((start, end),)) for host in hosts_of(full)]
    return found


def _bare_places(text: str) -> Iterator[tuple[int, int]]:
    last = 0
    for match in _FULL_URL.finditer(text):
        scheme = _BEFORE_SCHEME.search(text, max(match.start() - _LONGEST_SCHEME, last), match.start())
        if scheme is None or len(scheme.group()) == 1:  # one letter is a drive of Windows
            continue
        stop = _URL_END.search(text, match.end())
        last = stop.start() if stop else len(text)
        yield scheme.start(), last
    yield from (match.span() for match in _MAILTO.finditer(text))
    if "." in text:
        yield from (match.span() for match in _BARE.finditer(text))


def _trimmed(address: str) -> str:
    """The address without the marks of the sentence around it, and without a bracket that it does not open."""
    extra = address.count(")") - address.count("(")
    while address and (address[-1] in _LAST_MARKS or (address[-1] == ")" and extra > 0)):
        extra -= address[-1] == ")"
        address = address[:-1] if address[-1] == ")" else address.rstrip(_LAST_MARKS)
    return address


MOST_PASSES = 8
"""Times that a text is read anew after cuts: what was cut may have kept two halves of another link apart."""


@dataclass(frozen=True)
class Cut:
    """A text without some of its references. `spans` are those of the text that were cut, `found` what they referred to."""

    text: str
    spans: tuple[Span, ...]
    found: tuple[Reference, ...]


def cut_references(text: str, unwanted: Callable[[Reference], bool]) -> Cut | None:
    """Cuts all references that are unwanted, and reads what is left again; None if there is no end to it."""
    left, found = as_written(text), list[Reference]()
    for _ in range(MOST_PASSES):
        read = [reference for reference in references(left.text) if unwanted(reference)]
        if not read:
            break
        for reference in read:
            places = [left.span(start, end) for start, end in reference.cuts]
            cuts = tuple((place.start, place.end) for place in places)
            found.append(Reference(reference.address, reference.host, reference.kind, cuts))
        left = replace_ranges(left, ((start, end, "") for start, end in _ranges(left.text, read)))
    else:
        return None
    kept = merged((start, end) for start, end in zip(left.starts, left.ends, strict=True))
    edges = [0, *(place for piece in kept for place in piece), len(text)]
    gaps = [Span(start=start, end=end) for start, end in zip(edges[::2], edges[1::2], strict=True) if start < end]
    return Cut(left.text, tuple(gaps), tuple(found))


def _ranges(text: str, read: Sequence[Reference]) -> list[tuple[int, int]]:
    """Ranges to cut: the references, the uses of a removed definition, and the space around an emptied part."""
    cuts = [cut for reference in read for cut in reference.cuts if cut[0] < cut[1]]
    labels = {reference.label for reference in read if reference.label is not None}
    cuts += _uses(text, labels) if labels else ()
    return merged(_widened(text, start, end) for start, end in merged(cuts))


def _uses(text: str, labels: set[str]) -> Iterator[tuple[int, int]]:
    """The brackets of links that use such a label, `[text][label]` and `[label]`, and all of a picture."""
    for match in _USE.finditer(text):
        if _label(match["label"] or match["text"]) not in labels:
            continue
        if match.group().startswith("!"):
            yield match.span()
        else:
            yield match.start(), match.start() + 1
            yield match.end("text"), match.end()


def _widened(text: str, start: int, end: int) -> tuple[int, int]:
    """The cut with its line where nothing else is said there, else with one of the spaces around it, and empty brackets."""
    line, stop = text.rfind("\n", 0, start) + 1, line_end(text, end)
    if _AROUND.fullmatch(text, line, start) and not text[end:stop].strip(" \t*_~|") and end - start > 2:
        if stop == len(text):
            return max(line - 1, 0), stop
        # Of the blank lines on both sides one stays.
        return line, stop + 1 + (text[stop + 1 : stop + 2] == "\n" and (line < 2 or text[line - 2] == "\n"))
    if text[start - 1 : start] + text[end : end + 1] in _PAIRS:
        start, end = start - 1, end + 1
    if start and text[start - 1] in " \t" and (end == len(text) or text[end] in " \t\n.,;:!?") and end - start > 2:
        start -= 1
    return start, end


def says_something(text: str) -> bool:
    """True if a reader finds a word in it."""
    return _SAYS.search(text) is not None


def settled_until(text: str) -> tuple[list[tuple[int, int]], int]:
    """Ranges of a growing text that one piece of markup takes up, and the place from which on one is still open.

    Text is shown in whole ranges only: what begins one may turn out to be part of a link.
    """
    commands = (match.span() for match in _COMMAND.finditer(text))
    places = (*_tag_places(text), *_markdown_places(text), *_bare_places(text), *commands, *_open_definition(text))
    return merged(places), min((start for start, end in places if end >= len(text)), default=len(text))


def _tag_places(text: str) -> Iterator[tuple[int, int]]:
    """Tags, and elements that go with all that they hold. What is not closed yet reaches to the end."""
    tags = list(_GROWING_TAG.finditer(text))
    shown_as_code, ends, opened = _are_code(text, tags), _Ends(text), -1
    for match in tags:
        if not match["closed"]:
            opened = match.start() if opened < 0 else opened
            continue
        yield (match.start() if opened < 0 else opened), match.end()
        opened, name = -1, match["name"].lower()
        if name in _RAW and not shown_as_code:
            yield match.start(), ends.of(name, match.end())[1]
    if opened >= 0:
        yield opened, len(text)


def _markdown_places(text: str) -> Iterator[tuple[int, int]]:
    """Destinations of links, and definitions. One that is not complete may be, until its paragraph ends."""
    for match in _DEFINITION.finditer(text):
        yield match.start("start"), match.end()
    place = 0
    while opening := _MAYBE_INLINE.search(text, place):
        inline = _INLINE.match(text, opening.start())
        if inline and inline["rest"]:
            place = inline.end()
        else:
            stop = _PARAGRAPH_END.search(text, opening.end())
            place = stop.start() if stop else len(text)
        yield opening.start(), place
        place = max(place, opening.end())


def _open_definition(text: str) -> Iterator[tuple[int, int]]:
    match = _OPEN_DEFINITION.search(text)
    if match:
        yield match.start(), len(text)
