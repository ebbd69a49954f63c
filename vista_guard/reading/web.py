"""Pages from the web as documents: addresses, lists of them, and sitemaps, within limits and never from a private network.

Every address is resolved once and connected to as resolved, redirects too: no name can resolve to this network later.
"""

from __future__ import annotations

import socket
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from vista_guard._extras import require
from vista_guard.errors import ConfigError, InputError
from vista_guard.reading.files import DocumentFile, SkippedFile, WebPage

if TYPE_CHECKING:
    import httpx

_HEADERS = {"User-Agent": "vista-guard (documents add)", "Accept-Encoding": "gzip"}
_TRANSLATED = IPv6Network("64:ff9b::/96")
"""Addresses that a gateway translates (NAT64): the last 32 bits are the IPv4 address that it connects to."""
_SITEMAPS = 50
"""Sitemaps that an index may name."""
_MAP_BYTES = 50_000_000
"""Largest sitemap, unpacked: the protocol's own limit."""


@dataclass(frozen=True)
class WebLimits:
    """Limits of one run. A page beyond them is left out with the reason; beyond `pages` nothing more is fetched."""

    max_bytes: int = 50_000_000
    seconds: float = 20.0
    redirects: int = 5
    pages: int = 1000
    allow_private: bool = False
    """Allow addresses of this machine and of private networks."""


@dataclass
class WebReader:
    """Fetches pages. `with WebReader() as web: web.page("https://example.com/terms")`.

    Raises:
        ConfigError: the extra `documents` is not installed.
    """

    limits: WebLimits = field(default_factory=WebLimits)

    def __post_init__(self) -> None:
        require("reading from the web", "httpx", "defusedxml", extra="documents")
        import httpx

        # No proxy of the environment: it would resolve names out of our sight.
        self._client = httpx.Client(trust_env=False, timeout=self.limits.seconds, headers=_HEADERS)

    def __enter__(self) -> WebReader:
        return self

    def __exit__(self, *exc: object) -> None:
        self._client.close()

    def page(self, url: str) -> DocumentFile | SkippedFile:
        """Fetches a page; its id is the address. A failed fetch returns the reason."""
        try:
            final_url, kind, content = self._fetch(url, self.limits.max_bytes)
        except InputError as exc:
            return SkippedFile(Path(url), str(exc), broken=True, place=url)
        name = Path(urlsplit(final_url).path).name or "index.html"
        return DocumentFile(Path(name), url, page=WebPage(final_url, kind, content))

    def pages(self, urls: Sequence[str]) -> Iterator[DocumentFile | SkippedFile]:
        """Fetches the pages, each address once, up to the limit."""
        unique = list(dict.fromkeys(urls))
        yield from map(self.page, unique[: self.limits.pages])
        if excess := unique[self.limits.pages :]:
            reason = f"{len(excess):,} addresses lie beyond the limit of {self.limits.pages:,} pages; raise --max-pages"
            yield SkippedFile(Path(excess[0]), reason, broken=True, place=excess[0])

    def sitemap(self, url: str) -> list[str]:
        """Lists a sitemap's pages in order; for an index, the pages of its sitemaps.

        Raises:
            InputError: it cannot be fetched, or is no sitemap.
        """
        pages, maps = self._map(url)
        for inner in maps[:_SITEMAPS]:
            if len(pages) > self.limits.pages:
                break
            pages += self._map(inner)[0]
        if not pages:
            raise InputError(f"{url} names no pages; give a sitemap of sitemaps.org's form")
        return pages

    def _map(self, url: str) -> tuple[list[str], list[str]]:
        from defusedxml import DefusedXmlException
        from defusedxml.ElementTree import ParseError, fromstring

        try:
            _, _, content = self._fetch(url, min(self.limits.max_bytes, _MAP_BYTES))
            tree = fromstring(_decompress(content), forbid_dtd=True)
        except (ParseError, DefusedXmlException, ValueError) as exc:
            raise InputError(f"{url} is no sitemap: {type(exc).__name__}: {exc}") from exc
        except InputError as exc:
            raise InputError(f"{url} {exc}") from exc
        urls = dict[str, list[str]](url=[], sitemap=[])
        for entry in tree:
            place = next((child.text or "" for child in entry if child.tag.rpartition("}")[2] == "loc"), "").strip()
            if place:
                urls.setdefault(entry.tag.rpartition("}")[2], []).append(place)
        return urls["url"], urls["sitemap"]

    def _fetch(self, url: str, max_bytes: int) -> tuple[str, str, bytes]:
        """Returns the final address, the content's type and the content."""
        import httpx

        deadline = monotonic() + self.limits.seconds
        for _ in range(self.limits.redirects + 1):
            try:
                target, host = self._resolved(url), httpx.URL(url)  # encodes the name as DNS expects it
                headers, extensions = {"Host": host.netloc.decode()}, {"sni_hostname": host.raw_host.decode()}
                with self._client.stream("GET", target, headers=headers, extensions=extensions) as response:
                    if response.has_redirect_location:
                        url = urljoin(url, response.headers["location"])
                        continue
                    return url, *_content(response, max_bytes, deadline)
            except (httpx.HTTPError, httpx.InvalidURL, ValueError) as exc:  # a redirect to no address
                raise InputError(f"cannot be fetched: {type(exc).__name__}: {exc}") from exc
        raise InputError(f"was redirected more than {self.limits.redirects} times, last to {url}")

    def _resolved(self, url: str) -> str:
        """Replaces the host's name in the address by its IP address.

        Raises:
            InputError: no web address, an unknown host, or one of a private network.
        """
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError as exc:
            raise InputError(f"is no web address: {exc}") from exc
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise InputError(
                f"is no address that can be fetched: {url}; give http:// or https://, without a user's name"
            )
        try:
            infos = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as exc:
            raise InputError(f"cannot be fetched: the host {parts.hostname} is not known: {exc}") from exc
        addresses = [str(info[4][0]) for info in infos]
        private = [address for address in addresses if not _is_public(address)]
        if private and not self.limits.allow_private:
            raise InputError(f"leads to the private address {private[0]}; --allow-private fetches from there")
        number = f"[{addresses[0]}]" if ":" in addresses[0] else addresses[0]
        return parts._replace(netloc=f"{number}:{port}", fragment="").geturl()


def read_list(file: Path) -> list[str]:
    """Reads addresses from a file, one a line; skips empty lines and those that begin with #.

    Raises:
        ConfigError: the file cannot be read, or holds a line that is no address.
    """
    try:
        lines = [line.strip() for line in file.read_text(encoding="utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"the list {file} cannot be read: {exc}. Give a text file with one address a line") from exc
    urls = [(number, line) for number, line in enumerate(lines, 1) if line and not line.startswith("#")]
    for number, line in urls:
        if not is_url(line):
            raise ConfigError(
                f"the list {file}, line {number}: {line!r} is no address; write http:// or https:// in front"
            )
    return [line for _, line in urls]


def is_url(place: str) -> bool:
    """True for an address of the web."""
    return place.lower().startswith(("http://", "https://"))


def _content(response: httpx.Response, max_bytes: int, deadline: float) -> tuple[str, bytes]:
    if not response.is_success:
        raise InputError(f"answered with {response.status_code} {response.reason_phrase}")
    if (encoding := response.headers.get("content-encoding", "").lower()) not in ("", "identity", "gzip"):
        raise InputError(
            f"is encoded as {encoding[:40]}, which was not asked for"
        )  # packed twice, a little unpacks to all memory
    content = bytearray()
    for part in response.iter_bytes():
        content += part
        if len(content) > max_bytes:
            raise InputError(f"has more than {max_bytes:,} bytes; raise --max-mb")
        if monotonic() > deadline:
            raise InputError("took too long to arrive; raise --max-seconds")
    return response.headers.get("content-type", "").partition(";")[0].strip().lower(), bytes(content)


def _decompress(content: bytes) -> bytes:
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        unpacked = zlib.decompressobj(wbits=31).decompress(content, _MAP_BYTES + 1)
    except zlib.error as exc:
        raise InputError(f"is damaged: {exc}") from exc
    if len(unpacked) > _MAP_BYTES:
        raise InputError(f"unpacks to more than {_MAP_BYTES:,} bytes")
    return unpacked


def _is_public(number: str) -> bool:
    """True for a public address; an IPv6 address that embeds an IPv4 one counts as that one."""
    address: IPv4Address | IPv6Address = ip_address(number.partition("%")[0])
    if isinstance(address, IPv6Address):
        if address in _TRANSLATED:
            address = IPv4Address(int(address) & 0xFFFF_FFFF)
        else:
            address = address.ipv4_mapped or address.sixtofour or address
    return address.is_global and not address.is_multicast and not getattr(address, "is_site_local", False)
