"""Review and Annotate in a real browser: two people label a turn by keyboard, and settle what they disagree on; one reviews."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Locator, Page, TimeoutError, expect
from typer.testing import CliRunner

from tests.dashboard.browser import Served, each_look, faults, serving, too_wide
from tests.dashboard.reviewing import BATCH, BLOCKED, HARBOUR, STRANGE, come_in, people_at_work
from tests.dashboard.seeded import HOSTILE, SCRIPT
from tests.lab.oasis.generated_set import CLAIMS, write_set
from vista_guard import Guard
from vista_guard.cli import app
from vista_guard.stores.reports import Database
from vista_guard.stores.reviewed import Op
from vista_guard.stores.reviews.queue import Reviews, ReviewVerdict
from vista_guard.types import Label
from vista_lab.annotate.batches import Batches, Condition, answers_by_annotator, results_of
from vista_lab.annotate.forms import Answers, Item, Part, load_form
from vista_lab.metrics.agreement import Method


@pytest.fixture(scope="module")
def office(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    with people_at_work(tmp_path_factory.mktemp("people")) as (served, url):
        yield served, url


@pytest.fixture
def person(office: tuple[Served, str], browser: Browser) -> Iterator[Any]:
    """Opens a path as somebody who has the link."""
    pages: list[Page] = []

    def open_page(path: str, *, width: int = 1280, theme: str = "light") -> Page:
        page = come_in(office[0], browser, width=width, theme=theme)
        pages.append(page)
        office[0].open(page, path)
        return page

    yield open_page
    for page in pages:
        page.context.close()


@pytest.fixture(scope="module")
def reader(office: tuple[Served, str], browser: Browser) -> Iterator[Page]:
    """One page for all that is only looked at: Streamlit's own files, megabytes of them, are read once."""
    page = come_in(office[0], browser, width=1280, theme="light")
    yield page
    page.context.close()


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def settled(page: Page) -> None:
    """Waits until the page has drawn what was done: a key that is pressed meanwhile is lost with the old buttons."""
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()


def press_until(page: Page, key: str, done: Locator) -> None:
    """Presses a key until what it does is on the page: one that comes between two runs of the script is lost."""
    settled(page)
    for _ in range(9):
        page.keyboard.press(key)
        with suppress(TimeoutError):
            done.wait_for(timeout=10_000)
            return
    done.wait_for()


def saved(page: Page) -> None:
    expect(page.get_by_text("· saved")).to_be_visible()


def first_turn(page: Page, *, last: str) -> None:
    """Labels the three claims of the turn on the harbour."""
    expect(page.locator(".claim-row")).to_have_count(3)
    press(page, "1", "ArrowRight", "1", "ArrowRight", last)
    expect(page.get_by_text("3 of 3 labelled")).to_be_visible()


def second_turn(page: Page) -> None:
    expect(page.locator(".turn-text", has_text="I like it.")).to_be_visible()
    expect(page.locator(".turn-text")).to_have_count(1)
    press(page, "2", "ArrowRight", "5", "ArrowRight", "x")
    expect(page.get_by_text("2 of 2 labelled")).to_be_visible()
    press(page, "Control+Enter")
    expect(page.get_by_text("Nothing left for you here")).to_be_visible()


def test_two_people_annotate_by_keyboard_and_settle_what_they_disagree_on(
    office: tuple[Served, str], person: Any
) -> None:
    place = f"/annotate?batch={BATCH}&as="
    ada = person(f"{place}ada")
    press(ada, "Control+Enter")
    expect(ada.get_by_text("Claim 1 has no label yet.")).to_be_visible()
    first_turn(ada, last="4")
    press(ada, "a")
    ada.keyboard.type("It has e and x and 5 in it.")
    press(ada, "Enter", "4")
    expect(ada.get_by_text("4 of 4 labelled")).to_be_visible()
    saved(ada)
    ada.reload()
    expect(ada.get_by_text("It has e and x and 5 in it.")).to_be_visible()
    expect(ada.locator(".claim-row .label.chosen")).to_have_count(4)
    assert faults(ada) == []
    press(ada, "Control+Enter")
    second_turn(ada)

    ben = person(f"{place}ben")
    expect(ben.locator(".claim-row")).to_have_count(3)
    read = " ".join(ben.locator(".vg").all_inner_texts())
    assert "The harbour was dug in 1702." in read
    assert [hint for hint in ("judge:", "ada", "It has e and x", "0.90", "says the judge") if hint in read] == []
    expect(ben.locator(".label.chosen")).to_have_count(0)
    first_turn(ben, last="1")
    press(ben, "ArrowLeft", "e")
    ben.keyboard.type(" Indeed.")
    press(ben, "Enter")
    expect(ben.get_by_text("edited")).to_be_visible()
    saved(ben)
    press(ben, "Control+Enter")
    second_turn(ben)

    page = person(f"{place}ada&view=agreement")
    expect(page.get_by_text("ada and ben")).to_be_visible()
    expect(page.get_by_text("5 and 5")).to_have_count(0)
    for _ in each_look(page):
        assert faults(page) == []
        assert too_wide(page) == 0

    page = person(f"{place}ada&view=consensus")
    expect(page.get_by_text("1 of 2 turns wait for an answer")).to_be_visible()
    answers = page.get_by_role("combobox", name="Answer")
    expect(answers).to_have_count(3)
    page.get_by_role("button", name="Settle this turn").click()
    expect(page.get_by_text("3 of 3 questions have no answer yet")).to_be_visible()
    for number, word in enumerate(("verified", "lacking evidence", "no claim of this turn")):
        answers.nth(number).click()
        page.get_by_role("option", name=word).click()
    assert faults(page) == []
    page.get_by_role("button", name="Settle this turn").click()
    expect(page.get_by_text("All settled")).to_be_visible()

    batches = Batches(office[1])
    harbour, plain = batches.complete(BATCH)
    assert harbour.report_id == HARBOUR
    assert [(one.annotator, one.condition) for one in harbour.drafts] == [("ada", "blind"), ("ben", Condition.BLIND)]
    assert [claim.op for claim in harbour.claims["ada"]] == [Op.CONFIRM, Op.CONFIRM, Op.CONFIRM, Op.ADD]
    assert harbour.claims["ben"][1].text == "The lighthouse is 31 metres tall. Indeed."
    assert harbour.consensus is not None
    assert plain.consensus is not None
    assert (harbour.consensus.method, harbour.consensus.by) == (Method.DISCUSSION, "ada")
    assert [one.label for one in harbour.consensus.claims] == [Label.VERIFIED, Label.VERIFIED, Label.LACKING_EVIDENCE]
    assert (plain.consensus.method, plain.consensus.by) == (Method.UNANIMOUS, "agreement")
    batches.close()


def test_the_judges_labels_are_shown_to_who_asks_and_that_is_kept(office: tuple[Served, str], person: Any) -> None:
    page = person(f"/annotate?batch=odd+{SCRIPT}&as=eve")
    expect(page.get_by_text("judge:")).to_have_count(0)
    expect(page.get_by_text(f"Claim {HOSTILE}")).to_be_visible()
    assert page.title() != "owned"
    page.get_by_role("button", name="Show the judge's labels").click()
    expect(page.get_by_text("judge: ✗ contradicted")).to_be_visible()
    expect(page.get_by_text("this is kept with your work")).to_be_visible()
    batches = Batches(office[1])
    task = batches.tasks(f"odd {SCRIPT}", "eve")[0]
    assert batches.start(task.id, "eve").condition is Condition.SUGGESTIONS
    batches.close()


def test_a_batch_is_made(office: tuple[Served, str], person: Any) -> None:
    page = person("/annotate?as=ada")
    page.get_by_label("Name", exact=True).fill("made here")
    page.get_by_role("button", name="Make the batch").click()
    expect(page.get_by_text("Turn 1 of")).to_be_visible()
    batches = Batches(office[1])
    made = next(one for one in batches.all() if one.name == "made here")
    assert made.items == 5  # one of six has no known draft
    batches.close()


@pytest.fixture
def own_office(browser: Browser, tmp_path: Path) -> Iterator[tuple[Served, str]]:
    """An office where a test decides turns: one that is tried again finds them open."""
    with people_at_work(tmp_path) as (served, url):
        yield served, url


def test_a_review_from_the_queue_to_the_verdict(own_office: tuple[Served, str], browser: Browser) -> None:
    served, url = own_office
    page, other = come_in(served, browser), come_in(served, browser)
    served.open(page, "/review?as=ada&reason=blocked")
    expect(page.locator(".talks li")).to_have_count(2)
    page.get_by_role("button", name="Take this turn").click()
    page.locator("mark.claim.tone-contradicted").first.click()
    expect(page.locator(".panel .statement")).to_have_text("The lighthouse is nine metres tall.")
    assert f"turn={BLOCKED}" in page.url
    served.open(other, f"/review?as=ben&turn={BLOCKED}")
    expect(other.get_by_text("ada has it until")).to_be_visible()
    expect(other.get_by_role("button", name="Take this turn")).to_have_count(0)
    page.get_by_role("button", name="Overturn").click()
    expect(page.get_by_label("Why")).to_be_focused()
    page.get_by_label("Why").fill(f"The chart says nine. {HOSTILE}")
    page.get_by_role("button", name="Overturn").click()
    expect(page.get_by_text("overturned by ada")).to_be_visible()
    expect(page.get_by_text(f"The chart says nine. {HOSTILE}")).to_be_visible()
    assert page.title() != "owned"
    reviews = Reviews(url)
    found = reviews.get(BLOCKED)
    assert found is not None
    assert (found.verdict, found.decided_by) == ("overturned", "ada")
    # the next free turn, and its verdict, by keys alone
    press_until(page, "n", page.get_by_text("yours until"))
    assert BLOCKED not in page.url
    expect(page.get_by_role("heading", name="Blocked: contradicts the evidence, 90 %")).to_be_visible()
    press_until(page, "u", page.get_by_text("upheld by ada"))
    [upheld] = [one for one in reviews.queue(open=False).rows if one.report_id != BLOCKED]
    assert upheld.verdict_reason == "as judged. Blocked: contradicts the evidence, 90 %"
    reviews.close()
    page.context.close()
    other.context.close()


def test_the_list_is_worked_through_by_keys_and_a_decision_is_taken_back(browser: Browser, tmp_path: Path) -> None:
    with people_at_work(tmp_path) as (served, url):
        page = come_in(served, browser)
        served.open(page, "/review?as=ada")
        rows, here = page.locator(".talks li"), page.locator(".talks li.here")
        expect(rows).to_have_count(4)  # a complaint, two blocked, one flagged
        expect(here).to_contain_text("Draft <img")
        press(page, "?")
        expect(page.get_by_text("takes your last decision back")).to_be_visible()
        press(page, "n")
        expect(page.get_by_text("takes your last decision back")).to_be_visible()
        expect(here).to_contain_text("The harbour was dug in 1702.")  # of equal risk, the one that waits longest
        press(page, "u")
        expect(page.get_by_text("Upheld: this turn.")).to_be_visible()
        expect(rows).to_have_count(3)
        reviews = Reviews(url)
        found = reviews.get(HARBOUR)
        assert found is not None
        assert (found.verdict, found.decided_by) == ("upheld", "ada")
        press(page, "z")
        expect(rows).to_have_count(4)
        found = reviews.get(HARBOUR)
        assert found is not None
        assert found.open
        page.get_by_role("button", name="flagged 1").click()
        expect(rows).to_have_count(1)
        press(page, "o")
        expect(page.get_by_label("Why")).to_be_focused()
        page.keyboard.type("The chart has it.")
        press(page, "Control+Enter")
        expect(page.get_by_text("overturned by ada")).to_be_visible()
        found = reviews.get(HARBOUR)
        assert found is not None
        assert (found.verdict, found.verdict_reason) == ("overturned", "The chart has it.")
        page.reload()  # which forgets the last decision
        page.get_by_role("button", name="Take your decision back").click()
        expect(page.get_by_label("Why")).to_be_visible()
        found = reviews.get(HARBOUR)
        assert found is not None
        assert found.open
        reviews.close()
        page.context.close()


def test_a_press_on_a_turn_that_somebody_decided_says_so(browser: Browser, tmp_path: Path) -> None:
    with people_at_work(tmp_path) as (served, url):
        page, reviews = come_in(served, browser), Reviews(url)
        served.open(page, f"/review?as=ada&at={HARBOUR}")
        reviews.decide(HARBOUR, "ben", ReviewVerdict.UPHELD, "as judged")
        press(page, "u")
        expect(page.get_by_role("alert")).to_contain_text("decided by ben: upheld")
        expect(page.locator(".talks li")).to_have_count(3)
        reviews.close()
        page.context.close()


def test_what_is_said_of_the_chat_becomes_a_fact_by_keys_and_is_taken_back(browser: Browser, tmp_path: Path) -> None:
    said, url = "You can make an appointment with the button below.", f"sqlite:///{tmp_path / 'reports.sqlite'}"
    documents = ["Our clinic is open on weekdays from 8 to 17."]
    with Guard.from_settings(store="memory", policy="strict", retrieve=False, reports=url, record="full") as guard:
        assert [guard.check_answer(said, documents=documents).blocked for _ in range(2)] == [True, True]
        with serving("--reports", url) as served:
            page = come_in(served, browser)
            served.open(page, "/review?as=ada")
            expect(page.locator(".talks li")).to_have_count(1)
            press(page, "a")
            field = page.get_by_label("Fact about the chat", exact=True)
            expect(field).to_be_focused()
            expect(field).to_have_value(said)
            expect(page.get_by_label("Decide 1 equal draft too")).to_be_checked()
            assert faults(page) == []
            press(page, "Control+A")
            page.keyboard.type("There is a button below the chat to make an appointment.")
            press(page, "Control+Enter")
            expect(page.get_by_text("Added 1 fact about the chat. Overturned: 2 equal drafts.")).to_be_visible()
            expect(page.get_by_text("made a fact about the chat")).to_be_visible()
            assert not guard.check_answer(said, documents=documents).blocked
            assert guard.check_answer("You can make an appointment by phone.", documents=documents).blocked
            press_until(page, "z", page.get_by_text("removed the fact about the chat"))
            assert guard.check_answer(said, documents=documents).blocked
            reviews = Reviews(url)
            reviews.add_fact(f"Prices may change. {HOSTILE}", "ben")
            served.open(page, "/review?as=ada")
            page.get_by_text("What answers may say of this chat: 1 fact").click()
            assert page.title() != "owned"
            assert faults(page) == []
            page.get_by_role("button", name="Remove: Prices may change.").click()
            expect(page.get_by_text("What answers may say of this chat")).to_have_count(0)
            assert reviews.facts() == ()
            reviews.close()
            page.context.close()


def test_without_sign_in_people_choose_a_name_and_the_browser_remembers_it(
    office: tuple[Served, str], person: Any
) -> None:
    page = person("/review")
    expect(page.locator(".talks li").first).to_be_visible()
    expect(page.get_by_role("button", name="Take this turn")).to_have_count(0)
    page.get_by_label("Who are you?").fill("Zoë <b>")
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_role("button", name="Take this turn")).to_be_visible()
    assert "as=Zo" in page.url
    again = page.context.new_page()
    office[0].open(again, "/review")
    expect(again.get_by_text("You are Zoë <b>")).to_be_visible()
    again.get_by_role("button", name="Choose another name").click()
    expect(again.get_by_label("Who are you?")).to_be_visible()


@pytest.mark.parametrize(
    "path",
    [
        "/review?as=ada",
        f"/review?as=ada&turn={STRANGE}",
        "/review",
        "/annotate?as=ada",
        f"/annotate?as=zoe&batch={BATCH}",
    ],
)
def test_everybody_can_read_them(office: tuple[Served, str], reader: Page, path: str) -> None:
    office[0].open(reader, path)
    for _ in each_look(reader):
        assert faults(reader) == []
        assert too_wide(reader) == 0
        assert reader.title() != "owned"


def test_two_people_fill_in_any_form_and_settle_it(office: tuple[Served, str], person: Any) -> None:
    form = load_form("desiderata")
    claims = (Part("c1", {"text": f"Ada wrote notes. {HOSTILE}"}), Part("c2", {"text": "They were long."}))
    item = Item("s1", {"question": "Who was Ada?", "sentence": "Ada wrote long notes."}, claims, "s1")
    batches = Batches(Database(office[1]))
    name = f"forms-{uuid4().hex[:8]}"  # a page that came too late is tried once more, in the same office
    batches.create(name, form, [item], wanted=2, who="owner", about="one sentence")
    for who, clear in (("ada", "1"), ("ben", "0")):
        page = person(f"/annotate?batch={name}&as={who}")
        expect(page.locator(".claim-row")).to_have_count(3)
        expect(page.get_by_text("Ada wrote long notes.")).to_be_visible()
        press(page, "Control+Enter")
        expect(page.get_by_text("Claim 1 has no verifiability yet.")).to_be_visible()
        press(page, "1", "1", clear, "ArrowRight", "1", "1", "1", "ArrowRight", "1", "1")
        expect(page.get_by_text("3 of 3 marked")).to_be_visible()
        page.get_by_role("textbox", name="Notes of the document").fill("fine")
        saved(page)
        assert page.title() != "owned"
        assert faults(page) == []
        page.get_by_role("button", name="Submit").click()
        expect(page.get_by_text("Nothing left for you here")).to_be_visible()
    page = person(f"/annotate?batch={name}&as=ada&view=agreement")
    expect(page.get_by_text("all agree, %")).to_be_visible()
    assert faults(page) == []
    page = person(f"/annotate?batch={name}&as=ada&view=consensus")
    page.get_by_role("combobox", name="Answer: clarity").click()
    page.get_by_role("option", name="0").click()
    page.get_by_role("button", name="Settle this document").click()
    expect(page.get_by_text("All settled")).to_be_visible()
    tasks = batches.complete(name)
    (batch,) = [one for one in batches.all() if one.name == name]
    assert results_of(batch, tasks).discussed == {("s1", "c1", "clarity"): "0"}
    answers = answers_by_annotator(tasks)
    ones = {"verifiability": "1", "faithfulness": "1", "clarity": "1"}
    assert answers["ada"]["s1"] == Answers(
        {"coverage": "1", "uniqueness": "1", "notes": "fine"}, {"c1": ones, "c2": ones}
    )
    assert answers["ben"]["s1"].parts["c1"] == {**ones, "clarity": "0"}


def test_a_generated_set_is_marked_on_the_page_and_counted(
    office: tuple[Served, str], person: Any, tmp_path: Path
) -> None:
    """Each finds the passages that are theirs, and the shared one; what is discarded whole needs no more marks."""
    mills = {one.passage.id: f"mill {number}" for number, one in enumerate(write_set(tmp_path, 3))}
    batch = f"ours-{uuid4().hex[:8]}"
    words = ["oasis", "sheets", str(tmp_path), "--annotators", "ada,ben", "--part", "all", "--sample", "2"]
    done = CliRunner().invoke(app, [*words, "--shared", "1", "--batch", batch, "--reports", office[1]])
    assert done.exit_code == 0, done.stderr
    batches = Batches(Database(office[1]))
    items = {who: [task.item.id for task in batches.tasks(f"{batch}-extraction", who)] for who in ("ada", "ben", "eve")}
    assert [len(own) for own in items.values()] == [2, 2, 0]
    (shared,) = set(items["ada"]) & set(items["ben"])
    for who in ("ada", "ben"):
        page = person(f"/annotate?batch={batch}-extraction&as={who}")
        for done_before, name in enumerate(items[who]):
            expect(page.get_by_text(f"{done_before} of 2 submitted")).to_be_visible()
            expect(page.locator(".claim-row", has_text=f"The {mills[name]} was built")).to_be_visible()
            expect(page.locator(".claim-row")).to_have_count(CLAIMS + 1)
            if name == shared:
                press(page, *["1", "ArrowRight"] * (CLAIMS - 1), "2" if who == "ben" else "1")
            else:
                press(page, "Control+Enter")
                expect(page.get_by_text("Claim 1 has no mark yet.")).to_be_visible()
                press(page, *["ArrowRight"] * CLAIMS, "2")
            expect(page.get_by_text(f"{CLAIMS + 1} of {CLAIMS + 1} marked")).to_be_visible()
            saved(page)
            assert faults(page) == []
            press(page, "Control+Enter")
        expect(page.get_by_text("Nothing left for you here")).to_be_visible()
    for step in ("falsification", "factual", "unfactual"):
        page = person(f"/annotate?batch={batch}-{step}&as=ada")
        expect(page.get_by_text("0 of 2 submitted")).to_be_visible()
    words = ["oasis", "agree", str(tmp_path), "--batch", batch, "--reports", office[1], "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    extraction = found["steps"][0]
    assert (extraction["rows"], extraction["right"]) == (CLAIMS - 1, CLAIMS - 1)
    assert (extraction["discarded"], extraction["open"], extraction["shared"]) == (2 * CLAIMS, 1, CLAIMS)
    assert found["gold"] == 0
    assert found["unfinished"] == 0
    assert found["to_discuss"] == 1
