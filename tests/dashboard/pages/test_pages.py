"""Every page in a real browser: both widths, both themes, axe, and scripts that must stay text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.dashboard import seeded
from tests.dashboard.browser import WAIT_MS, Served, each_look, faults, serving, stolen, too_wide
from tests.dashboard.pages.conftest import OpenPage
from tests.dashboard.seeded import HOSTILE, SCRIPT
from vista_guard.types import Action, TurnTexts

FIRST, BLOCKED, REPAIRED, PLAIN = (f"{number:032x}" for number in (1, 3, 5, 9))
STRANGE = "f" * 32

PAGES = (
    "/",
    "/conversation",
    "/conversation?sort=risk",
    f"/conversation?turn={FIRST}&claim=t1.c1",
    f"/conversation?turn={STRANGE}",
    "/conversation?turn=nothing",
)


@pytest.mark.parametrize("path", PAGES)
def test_every_page_can_be_read_by_everybody(opened: OpenPage, path: str) -> None:
    page = opened(path)
    for _ in each_look(page):
        assert faults(page) == []
        assert too_wide(page) == 0
        assert page.title() != "owned"


def test_scripts_and_markdown_stay_text(opened: OpenPage) -> None:
    page = opened(f"/conversation?turn={STRANGE}")
    for text in ("User", "Because", "Warning", "First"):
        expect(page.get_by_text(f"{text} {HOSTILE}").first).to_be_visible()
    expect(page.locator(".withheld .text")).to_contain_text(SCRIPT)  # the draft
    page.locator("mark.claim").first.click()
    page.locator(".statement").wait_for()
    for text in ("Claim", "Reason"):
        expect(page.locator(".panel").get_by_text(f"{text} {HOSTILE}").first).to_be_visible()
    assert page.locator(".panel mark.quote").text_content() == HOSTILE
    page.locator("summary", has_text="Knowledge as it stood").click()
    expect(page.get_by_text(f"Persona {HOSTILE}")).to_be_visible()
    assert_untouched(page)


def test_a_tenants_name_and_an_exception_stay_text(opened: OpenPage) -> None:
    page = opened("/")
    expect(page.get_by_text(f"tenant {HOSTILE}").first).to_be_visible()
    page.get_by_role("button", name="Filters").click()
    page.get_by_role("combobox", name="Tenant").click()
    expect(page.get_by_role("option", name=f"tenant {HOSTILE}")).to_be_visible()
    assert_untouched(page)
    page = opened(f"/conversation?conversation={HOSTILE}&turn=")
    expect(page.get_by_text(f"There is no conversation {HOSTILE}")).to_be_visible()
    assert_untouched(page)


def assert_untouched(page: Page) -> None:
    """No script ran, and nothing of the text became an element."""
    assert page.title() != "owned"
    assert page.locator("img[src=x]").count() == 0
    assert page.locator("a[href^=javascript]").count() == 0


def test_from_live_to_the_evidence_and_to_the_turn_that_established_it(opened: OpenPage) -> None:
    page = opened("/")
    page.locator(f"a.said[href*='{BLOCKED}']").click()
    expect(page.get_by_role("heading", name="Conversation")).to_be_visible()
    assert f"turn={BLOCKED}" in page.url
    page.locator(".assistant.here mark.claim").click()
    expect(page.locator(".panel .statement")).to_have_text("The lighthouse is nine metres tall.")
    assert "claim=t3.c1" in page.url
    page.locator(".panel").get_by_text("established in answer 1").first.click()
    expect(page.locator(".panel .statement")).to_have_text("The lighthouse is 31 metres tall.")
    expect(page.locator(".panel mark.quote")).to_have_text("The lighthouse is 31 metres tall.")
    expect(page.locator(".panel .page")).to_contain_text("The harbour was dug in 1702.")
    assert f"turn={FIRST}" in page.url


def test_by_keyboard_alone(opened: OpenPage) -> None:
    page = opened(f"/conversation?turn={FIRST}")
    claim = page.locator("mark.claim").first
    claim.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".panel .statement")).to_be_visible()
    claim = page.locator("mark.claim").nth(1)
    claim.focus()
    page.keyboard.press("Space")
    expect(page.locator("mark.claim.chosen").first).to_be_visible()
    page.get_by_role("button", name="Close the claim").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".panel .statement")).to_have_count(0)


def test_overlapping_claims_and_a_surrogate_pair_before_them(opened: OpenPage) -> None:
    page = opened(f"/conversation?turn={FIRST}")
    marks = page.locator(".assistant.here mark.claim")
    texts = [text.lstrip("✓?") for text in marks.all_text_contents()]
    assert texts == ["The ", "harbour was dug in 1702.", " ", "The lighthouse", " is 31 metres tall."]
    expect(marks.nth(1)).to_have_attribute(
        "aria-label", "verified: The harbour was dug in 1702.; lacking evidence: The harbour has a tall lighthouse."
    )


def test_the_course_of_a_repaired_turn(opened: OpenPage) -> None:
    page = opened(f"/conversation?turn={REPAIRED}")
    panel = page.locator(".panel")
    expect(panel.get_by_text("Draft 1, not delivered: regenerate")).to_be_visible()
    expect(panel.locator(".stage")).to_have_count(4)
    panel.get_by_text("It is painted blue.").click()
    expect(panel.locator(".statement")).to_have_text("It is painted blue.")
    assert "claim=1%3At5.c1" in page.url


def test_why_nothing_is_marked_and_where_the_trace_is(opened: OpenPage) -> None:
    page = opened(f"/conversation?turn={PLAIN}")
    expect(page.get_by_text("Nothing is marked: the draft was not kept.")).to_be_visible()
    page = opened(f"/conversation?turn={FIRST}")
    link = page.get_by_role("link", name="Open the trace")
    expect(link).to_have_attribute("href", f"http://localhost:6006/redirects/traces/{'a' * 32}")
    expect(link).to_have_attribute("rel", "noopener noreferrer")


def test_filters_stand_in_the_address(opened: OpenPage, served: Served) -> None:
    page = opened("/?action=BLOCK")
    expect(page.locator(".turn-row")).to_have_count(2)
    page.get_by_role("button", name="Filters (1)").click()
    page.get_by_role("combobox", name="Action").click()
    page.get_by_role("option", name="repaired").click()
    expect(page.locator(".turn-row")).to_have_count(1)
    assert "action=REPAIR" in page.url


def test_a_pinned_turn_stays(opened: OpenPage) -> None:
    page = opened("/")
    page.get_by_role("button", name="Pin answer 1 of harbour-talk").click()
    expect(page.locator(".turn-row.pinned")).to_have_count(1)
    page.wait_for_url(f"**pin={FIRST}*")
    again = opened(f"/?pin={FIRST}&attention=1")
    expect(again.locator(".turn-row.pinned")).to_contain_text("Tell me about the harbour.")
    expect(again.locator(".turn-row")).to_have_count(5)


def test_conversations_are_found_by_words_and_told_by_their_first_question(opened: OpenPage) -> None:
    page = opened("/conversation")
    expect(page.locator(".talks li")).to_have_count(2)
    row = page.locator(".talks li", has_text="harbour-talk")
    expect(row.get_by_role("link", name="Tell me about the harbour.")).to_be_visible()
    expect(row.locator(".worst")).to_contain_text("contradicted")
    page.get_by_label("Find conversations").fill("NINE metres")
    page.keyboard.press("Enter")
    expect(page.locator(".talks li")).to_have_count(1)
    assert "words=NINE" in page.url
    page = opened("/conversation?words=submarine")
    page.get_by_role("button", name="Clear all").click()
    expect(page.locator(".talks li")).to_have_count(2)
    page = opened("/conversation?since=2001-01-01&until=2001-12-31")
    expect(page.get_by_text("No matching conversation")).to_be_visible()


def test_the_worst_blocked_answer_of_yesterday_is_two_clicks_away(browser: Browser, tmp_path: Path) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    risks = {"mild": 0.4, "bad": 0.9, "fine": 0.1}
    turns = [
        (
            seeded.report(
                number,
                "I can't say.",
                (),
                Action.ALLOW if name == "fine" else Action.BLOCK,
                id=name,
                conversation_id=f"of {name}",
                risk=risk,
                created_at=yesterday,
            ),
            TurnTexts(user_text=f"Is it {name}?"),
        )
        for number, (name, risk) in enumerate(risks.items(), 1)
    ]
    url = seeded.write(tmp_path / "reports.sqlite", *turns)
    with serving("--reports", url) as dashboard, browser.new_context() as context:
        context.add_cookies(dashboard.cookies(browser))
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        dashboard.open(page, "/")
        page.get_by_role("link", name="yesterday's worst blocked").click()
        expect(page.locator(".talks li")).to_have_count(2)
        expect(page.locator(".talks li").first).to_contain_text("highest risk 0.90")
        page.locator(".talks a").first.click()
        expect(page.locator(".assistant.here")).to_contain_text("I can't say.")
        assert "turn=bad" in page.url


def test_another_name_of_a_page_works(opened: OpenPage) -> None:
    expect(opened("/conversations?words=nine").locator(".talks li")).to_have_count(1)


def test_every_page_says_where_it_is(opened: OpenPage) -> None:
    for path in ("/", "/conversation", "/trends", "/review?as=ada", "/runs"):
        where = opened(path).locator(".where")
        expect(where).to_contain_text("vista-guard")
        expect(where).to_contain_text("harbour master")
        expect(where).to_contain_text("reports.sqlite")


def test_a_phones_navigation_has_a_name(opened: OpenPage) -> None:
    page = opened("/", width=390)
    button = page.get_by_test_id("stExpandSidebarButton")
    shown = button.evaluate("node => getComputedStyle(node, '::after').content")
    assert shown == '"Menu"'
    button.click()
    expect(page.get_by_role("link", name="Conversations")).to_be_visible()


@pytest.mark.parametrize(
    ("path", "holds"),
    [
        ("/", 'Blocked: contradicts an earlier turn: “The lighthouse is 31 metres tall.”, 90 %",So it is small?'),
        ("/conversation", "harbour-talk,,Tell me about the harbour.,"),
        (f"/conversation?turn={STRANGE}", "Claim <img"),
        ("/trends?hours=1", ",turns,BLOCK,"),
        ("/lab", "harbour-talk,1,"),
        ("/review?as=ada", "Blocked: contradicts an earlier turn: “The lighthouse is 31 metres tall.”, 90 %"),
    ],
)
def test_what_a_page_shows_is_a_table_to_take_along(opened: OpenPage, path: str, holds: str) -> None:
    page = opened(path)
    with page.expect_download() as download:
        page.get_by_test_id("stDownloadButton").get_by_role("button").click()
    content = download.value.path().read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")  # else Excel reads it in its own code page
    text = content.decode("utf-8-sig")
    assert download.value.suggested_filename.endswith(".csv")
    assert holds in text, text


def test_a_page_on_another_port_gets_nothing(served: Served, browser: Browser, cookies: Any) -> None:
    context = browser.new_context()
    context.add_cookies(cookies)
    assert [stolen(context, served.address, name) for name in ("127.0.0.1", "localhost")] == [[], []]
    page = context.new_page()
    served.open(page, "/")  # its own page does
    context.close()
