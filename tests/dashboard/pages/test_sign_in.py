"""People sign in at a real OpenID Connect provider: who is named comes in, and sees their own tenant; who is not is told so."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Page, expect
from tenacity import retry, retry_if_exception_type, stop_after_delay, wait_fixed

from tests.dashboard import seeded
from tests.dashboard.browser import WAIT_MS, Served, serving, stolen

PEOPLE = ("ada@example.com", "eve@elsewhere.com")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """Address of a provider that knows Ada and Eve."""
    port = free_port()
    users = [
        argument
        for mail in PEOPLE
        for argument in ("--user-claims", json.dumps({"sub": mail, "email": mail, "email_verified": True}))
    ]
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port), *users]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            answers(f"http://127.0.0.1:{port}/.well-known/openid-configuration")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@retry(retry=retry_if_exception_type(URLError), stop=stop_after_delay(60), wait=wait_fixed(0.1), reraise=True)
def answers(url: str) -> None:
    with urlopen(url, timeout=600):
        pass


@pytest.fixture(scope="module")
def served(provider: str, browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A dashboard that lets Ada in, for the tenant `pier`."""
    folder, port = tmp_path_factory.mktemp("signed"), free_port()
    settings = f"""
        [dashboard]
        port = {port}
        [dashboard.sign_in]
        client_id = "guard"
        client_secret = "of the guard"
        cookie_secret = "{"0123456789abcdef" * 2}"
        redirect_uri = "http://127.0.0.1:{port}/oauth2callback"
        server_metadata_url = "{provider}/.well-known/openid-configuration"
        [dashboard.people."ada@example.com"]
        tenants = ["pier"]
    """
    (folder / "vista-guard.toml").write_text(settings, encoding="utf-8")
    url = seeded.write(folder / "reports.sqlite", *seeded.talk())
    environment = {"VISTA_GUARD_CONFIG": str(folder / "vista-guard.toml")}
    with serving("--reports", url, "--port", str(port), **environment) as dashboard:
        yield dashboard


@pytest.fixture
def page(served: Served, browser: Browser) -> Iterator[Page]:
    """A reader who is nobody yet, at the door."""
    context = browser.new_context()
    page = context.new_page()
    page.set_default_timeout(WAIT_MS)
    page.goto(served.address)
    yield page
    context.close()


def sign_in(page: Page, mail: str) -> None:
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name=mail).click()


def test_who_is_named_comes_in_and_out_again(page: Page, served: Served, provider: str) -> None:
    assert "harbour" not in (page.text_content("body") or "")
    sign_in(page, "ada@example.com")
    expect(page.get_by_role("heading", name="Live")).to_be_visible()
    expect(page.get_by_text("harbour-talk")).to_have_count(0)  # of no tenant, and Ada sees the pier's
    expect(page.get_by_text("The first guarded turn appears here by itself.")).to_be_visible()
    expect(page.get_by_text("reports.sqlite")).to_have_count(0)  # where it lies is the operator's business
    assert stolen(page.context, served.address) == []
    page.get_by_test_id("stExpandSidebarButton").click()
    with page.expect_navigation(url=f"{provider}/**"):  # which ends its own session too
        page.get_by_role("button", name="Sign out").click()
    page.goto(served.address)
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def test_who_is_not_named_is_told_so(page: Page) -> None:
    sign_in(page, "eve@elsewhere.com")
    expect(page.get_by_role("heading", name="No access")).to_be_visible()
    expect(page.get_by_text("You signed in as eve@elsewhere.com")).to_be_visible()
