"""Pages of the web: what is fetched, and what never is."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.raising import raises
from vista_guard.errors import ConfigError, InputError
from vista_guard.reading.files import DocumentFile, FileReader, SkippedFile
from vista_guard.reading.web import WebLimits, WebReader, read_list
from vista_guard.types import Document

PAGE = b"<title>Fees</title><h2>Children</h2><p>Entry is free.</p>"
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


class Site(BaseHTTPRequestHandler):
    """A small site with a sitemap, and with what hostile sites do."""

    hosts: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.hosts.append(self.headers["Host"])
        here = f"http://{self.headers['Host']}"
        urls = "".join(f"<url><loc> {here}{path}</loc></url>" for path in ("/fees", "/data", "/missing"))
        maps = f"<sitemapindex {NAMESPACE}><sitemap><loc>{here}/map.xml.gz</loc></sitemap></sitemapindex>"
        lol = '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>'
        answers: dict[str, tuple[int, dict[str, str], bytes]] = {
            "/fees": (200, {"Content-Type": "text/html; charset=utf-8"}, PAGE),
            "/data": (200, {"Content-Type": "application/json"}, b'{"boat": "Ada"}'),
            "/index.xml": (200, {}, maps.encode()),
            "/map.xml.gz": (200, {}, gzip.compress(f"<urlset {NAMESPACE}>{urls}</urlset>".encode())),
            "/lol.xml": (200, {}, lol.encode()),
            "/bomb.xml": (200, {}, gzip.compress(b"<urlset>" + b" " * 60_000_000)),
            "/big": (200, {"Content-Type": "text/plain"}, b"word " * 50_000),
            "/round": (302, {"Location": "/round"}, b""),
            "/moved": (301, {"Location": "/fees"}, b""),
            "/inside": (302, {"Location": "http://169.254.169.254/latest/meta-data"}, b""),
            "/file": (302, {"Location": "file:///etc/passwd"}, b""),
            "/nowhere": (302, {}, b""),
            "/broken": (302, {"Location": "http://[x/"}, b""),
            "/twice": (200, {"Content-Encoding": "gzip, gzip"}, gzip.compress(gzip.compress(b"a" * 60_000_000))),
        }
        status, headers, content = answers.get(self.path, (404, {}, b"no"))
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def web() -> Iterator[WebReader]:
    with WebReader(WebLimits(allow_private=True, max_bytes=100_000, pages=5)) as reader:
        yield reader


def text_of(found: DocumentFile | SkippedFile) -> Document:
    assert isinstance(found, DocumentFile)
    with FileReader(seconds=60) as reader:
        document = reader.read(found)
    assert isinstance(document, Document)
    return document


def reason(found: DocumentFile | SkippedFile) -> str:
    assert isinstance(found, SkippedFile)
    assert found.broken
    return found.reason


def test_a_page_becomes_a_document_with_its_address(web: WebReader, site: str) -> None:
    document = text_of(web.page(f"{site}/moved"))
    assert (document.id, document.url, document.title) == (f"{site}/moved", f"{site}/fees", "Fees")
    assert document.text == "## Children\n\nEntry is free."
    assert (document.metadata["format"], document.metadata["url"]) == ("html", f"{site}/fees")
    assert text_of(web.page(f"{site}/data")).text == "boat: Ada"
    assert Site.hosts[-1] == site.removeprefix("http://")


def test_a_sitemap_names_pages_and_those_of_the_maps_in_it(web: WebReader, site: str) -> None:
    urls = web.sitemap(f"{site}/index.xml")
    assert urls == [f"{site}{path}" for path in ("/fees", "/data", "/missing")]
    found = list(web.pages([*urls, urls[0]]))
    assert [type(one) for one in found] == [DocumentFile, DocumentFile, SkippedFile]
    assert "404" in reason(found[-1])


@pytest.mark.parametrize("path", ["/lol.xml", "/bomb.xml", "/fees", "/missing"])
def test_what_is_no_sitemap_is_refused(web: WebReader, site: str, path: str) -> None:
    with raises(InputError, path):
        web.sitemap(f"{site}{path}")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/big", "100,000 bytes"),
        ("/round", "redirected more than 5"),
        ("/file", "file:///etc/passwd"),
        ("/twice", "gzip, gzip"),
    ],
)
def test_limits_hold(web: WebReader, site: str, path: str, said: str) -> None:
    assert said in reason(web.page(f"{site}{path}"))


@pytest.mark.parametrize("path", ["/nowhere", "/broken"])
def test_a_redirect_that_leads_nowhere_ends_no_run(web: WebReader, site: str, path: str) -> None:
    broken, fine = web.pages([f"{site}{path}", f"{site}/fees"])
    assert reason(broken)
    assert isinstance(fine, DocumentFile)


def test_a_name_in_other_letters_is_written_as_the_network_knows_it(
    web: WebReader, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, port = socket.getaddrinfo, site.rpartition(":")[2]
    monkeypatch.setattr(socket, "getaddrinfo", lambda _, *rest, **options: known("127.0.0.1", *rest, **options))
    assert isinstance(web.page(f"http://müller.example:{port}/fees"), DocumentFile)
    assert Site.hosts[-1] == f"xn--mller-kva.example:{port}"


def test_more_pages_than_the_limit_are_named(site: str) -> None:
    with WebReader(WebLimits(allow_private=True, pages=1)) as web:
        found = list(web.pages([f"{site}/fees", f"{site}/data", f"{site}/big"]))
    assert [type(one) for one in found] == [DocumentFile, SkippedFile]
    assert "2 addresses" in reason(found[1])


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1:1/", "http://[::1]/", "http://10.0.0.8/", "http://[::ffff:10.0.0.8]/", "http://224.0.0.1/"),
        *("http://[64:ff9b::10.0.0.8]/", "http://[2002:a00:8::]/"),  # of IPv4, behind a gateway
    ],
)
def test_private_addresses_are_never_asked_unless_allowed(url: str) -> None:
    with WebReader() as web:
        assert "private address" in reason(web.page(url))


def test_a_name_or_a_redirect_that_leads_inside_is_refused(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = socket.getaddrinfo

    def resolved(host: str, *args: Any, **options: Any) -> Any:
        return known({"outside.example": "127.0.0.1", "public.example": "127.0.0.1"}.get(host, host), *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    port = site.rpartition(":")[2]
    with WebReader() as web:
        assert "private address 127.0.0.1" in reason(web.page(f"http://outside.example:{port}/fees"))

    class Allowing(WebReader):
        def _resolved(self, url: str) -> str:
            return f"{site}/inside" if "public.example" in url else super()._resolved(url)

    with Allowing() as web:
        assert "private address 169.254.169.254" in reason(web.page("http://public.example/inside"))


@pytest.mark.parametrize(
    "url", ["ftp://example.com/a", "http:///a", "http://me:word@example.com/", "http://example.com:x/", "http://[x/"]
)
def test_what_is_no_address_is_refused(web: WebReader, url: str) -> None:
    assert "address" in reason(web.page(url))


def test_a_list_holds_an_address_a_line(tmp_path: Path) -> None:
    file = tmp_path / "pages.txt"
    file.write_text("# ours\n\nhttps://example.com/a\n http://example.com/b\n")
    assert read_list(file) == ["https://example.com/a", "http://example.com/b"]
    file.write_text("example.com/a\n")
    with raises(ConfigError, "1"):
        read_list(file)
    with raises(ConfigError, "gone.txt"):
        read_list(tmp_path / "gone.txt")
