"""Trees of elements: what a page may have, and what the browser is sent."""

from __future__ import annotations

import json

import pytest

from tests.dashboard import seeded
from tests.raising import raises
from vista_guard.dashboard.conversation.dialogue import Selected
from vista_guard.dashboard.conversation.panel import course
from vista_guard.dashboard.elements.address import to
from vista_guard.dashboard.elements.tree import Act, el, shorten
from vista_guard.dashboard.scoped import GuardedTurn
from vista_guard.types import Action, Decision

SCRIPT = "<script>document.title = 'owned'</script>"


def test_text_stays_text_on_its_way() -> None:
    sent = el("p", SCRIPT, el("b", SCRIPT), title=SCRIPT).wire()
    assert sent == {"t": "p", "a": {"title": SCRIPT}, "n": [SCRIPT, {"t": "b", "n": [SCRIPT]}]}
    assert json.loads(json.dumps(sent)) == sent


@pytest.mark.parametrize("tag", ["script", "iframe", "img", "style", "svg", "object", "form", "P", ""])
def test_no_other_elements(tag: str) -> None:
    with pytest.raises(ValueError, match="is not an element that a page may have"):
        el(tag)


@pytest.mark.parametrize("name", ["onclick", "onerror", "src", "srcdoc", "style_", "formaction", "id"])
def test_no_other_attributes(name: str) -> None:
    if name == "style_":
        name = "background"
    with raises(ValueError, "set"):
        el("p", **{name: "x"})  # type: ignore[arg-type]  # names come from the test


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "JAVASCRIPT:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd"]
)
def test_no_other_links(address: str) -> None:
    with pytest.raises(ValueError, match="a page may not link to"):
        el("a", "x", href=address)


def test_links_to_elsewhere_open_elsewhere() -> None:
    assert el("a", "x", href="https://example.com/t").attributes["rel"] == "noopener noreferrer"
    assert "target" not in el("a", "x", href="./conversation?turn=1").attributes


def test_what_can_be_pressed_can_be_reached_by_keyboard() -> None:
    assert dict(el("mark", "x", act=Act("claim", "1")).attributes) == {"role": "button", "tabindex": "0"}
    assert dict(el("button", "x", act=Act("claim", "1")).attributes) == {}


def test_a_link_between_pages_takes_any_id_along() -> None:
    link = to("conversation", "there", turn="a b&c=d#é", claim=None)
    assert link.attributes["href"] == "./conversation?turn=a+b%26c%3Dd%23%C3%A9"
    assert link.act == Act("go", link.attributes["href"])


def test_children_that_are_none_are_left_out() -> None:
    assert el("p", None, "a", None, "").children == ("a",)


def test_a_long_text_says_where_it_is_cut() -> None:
    assert shorten("The hall\n opened in 1931. ", 23) == "The hall opened in 193…"
    assert shorten("The hall\n opened in 1931. ", 24) == "The hall opened in 1931."
    assert shorten("The hall opened", 10) == "The hall…"


def test_a_long_reason_is_folded_behind_its_beginning() -> None:
    long = "t1.c1 lacking evidence (0.98): It sank.; " * 60
    for reason, folded in ((long, True), ("t1.c1 lacking evidence", False)):
        told = seeded.report(1, "It sank.", (), decision=Decision(action=Action.BLOCK, reason=reason))
        drawn = [node for node in course(GuardedTurn(told), Selected(), None) if node is not None]
        assert any(node.tag == "details" and reason in node.text() for node in drawn) is folded
        assert max(len(node.text()) for node in drawn if node.tag == "p") <= 600
