"""Two facts in one sentence are two claims, what hangs together stays one, and names, code and quotes keep their letters."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vista_guard.judges.embedded.english.decompose import _read, decompose
from vista_guard.types import Role, Turn


def said(text: str) -> list[str]:
    """The claims' texts of an assistant's turn."""
    return [claim.text for claim in decompose(Turn(role=Role.ASSISTANT, text=text), ())]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (
            "The fee is 30 euros, and children under 6 travel free.",
            ["The fee is 30 euros.", "Children under 6 travel free."],
        ),
        (
            "Both the gym and the sauna are included; towels cost £2 each.",
            ["Both the gym and the sauna are included.", "Towels cost £2 each."],
        ),
        (
            "The museum opens at 9 a.m., closes at 5 p.m. and is closed on Mondays.",
            ["The museum opens at 9 a.m.", "The museum closes at 5 p.m.", "The museum is closed on Mondays."],
        ),
        (
            "Adults pay 12 euros, students pay 8 and children get in free.",
            ["Adults pay 12 euros.", "Students pay 8.", "Children get in free."],
        ),
        (
            "The phone has a 6-inch screen, weighs 180 g and supports wireless charging.",
            ["The phone has a 6-inch screen.", "The phone weighs 180 g.", "The phone supports wireless charging."],
        ),
        (
            "The course runs for six weeks, starts in March and costs $400.",
            ["The course runs for six weeks.", "The course starts in March.", "The course costs $400."],
        ),
        (
            "Parking is free for guests and costs 5 euros a day for visitors.",
            ["Parking is free for guests.", "Parking costs 5 euros a day for visitors."],
        ),
        (
            "Employees get 25 days of leave a year and may carry over five days.",
            ["Employees get 25 days of leave a year.", "Employees may carry over five days."],
        ),
        (
            "The pool is open from May to September, but dogs aren't allowed.",
            ["The pool is open from May to September.", "Dogs aren't allowed."],
        ),
        (
            "The flat has two bedrooms, a balcony and a garage, and pets are allowed.",
            ["The flat has two bedrooms, a balcony and a garage.", "Pets are allowed."],
        ),
        (
            "The north has mild winters, while the southern and alpine areas have cold ones.",
            ["The north has mild winters.", "The southern and alpine areas have cold ones."],
        ),
        (
            "Bookings can be changed free of charge, however a fee of £15 applies after check-in.",
            ["Bookings can be changed free of charge.", "A fee of £15 applies after check-in."],
        ),
        (
            "Salmon is rich in omega-3 and lentils contain iron.",
            ["Salmon is rich in omega-3.", "Lentils contain iron."],
        ),
        (
            "The server listens on port 8080 and logs to stdout.",
            ["The server listens on port 8080.", "The server logs to stdout."],
        ),
        (
            "The book was written by Jane Smith, an author from Leeds, and published by Orbit in 2012.",
            [
                "The book was written by Jane Smith, an author from Leeds.",
                "The book was published by Orbit in 2012.",
            ],
        ),
        (
            "Rinse the rice, add two cups of water and simmer for 15 minutes.",
            ["Rinse the rice.", "Add two cups of water.", "Simmer for 15 minutes."],
        ),
        (
            "Add the onions and fry them for five minutes, then stir in the rice.",
            ["Add the onions.", "Fry them for five minutes.", "Stir in the rice."],
        ),
        ("The hall is free, but are they open on Sunday?", ["The hall is free."]),
    ],
)
def test_two_facts_are_two_claims(text: str, claims: list[str]) -> None:
    assert said(text) == claims


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (
            "If you are under 26:\n- you travel at half price\n- the card costs 20 euros",
            ["If you are under 26: you travel at half price.", "If you are under 26: the card costs 20 euros."],
        ),
        ("For adults:\n- 12 euros\n- the pool is free", ["For adults: 12 euros.", "For adults: the pool is free."]),
        (
            "You can bring:\n- one cabin bag\n- a pushchair",
            ["You can bring: one cabin bag.", "You can bring: a pushchair."],
        ),
        ("## Check-in from 15:00\nThe desk is staffed.", ["Check-in from 15:00.", "The desk is staffed."]),
        ("However, guide dogs are welcome.", ["Guide dogs are welcome."]),
        ("Please note that the lift is out of order.", ["The lift is out of order."]),
    ],
)
def test_each_keeps_what_it_hangs_on(text: str, claims: list[str]) -> None:
    assert said(text) == claims


@pytest.mark.parametrize(
    "text",
    [
        "In 1950, the mill closed and the bridge was sold in 1960.",
        "If you cancel within 24 hours, the deposit is refunded in full and the booking fee is waived.",
        "On Mondays, the museum opens at 9 and closes at 5.",
        "The deposit is refunded and the fee is waived if you cancel in time.",
        "Seats 1A and 1C have extra legroom because they are next to the exit.",
        "The lock works between 5 and 40 °C.",
        "Guests who work nights and live nearby get a permit.",
        "The device that connects to the hub and sends data is small.",
        "She said that the shop closes at 5 and opens at 9.",
        "She said the gyms and saunas are free.",
        "Make sure the doors and windows are shut.",
        "The shop sells books and prints at low prices.",
        "The plan includes 10 GB of data, unlimited calls and free roaming in the EU.",
        "The box includes a book and a limited edition print of 500 copies.",
        "We offer a tour of the cellar, and a free guided tour of the hall on Sundays.",
        "The stadium is owned and operated by Vale Sports.",
        "If you decide to respond, you must complete and serve your response in nine days.",
        "Call us to cancel and get a refund.",
        "Press and hold the power button for 10 seconds.",
        "It lets you filter and route messages from many services.",
        "Companies like Vale and Lind have done extensive testing.",
        "The first time the firm goes public and anyone with a broker can buy is a feast.",
        "Heating is included in the rent, electricity is not.",
        "War and Peace was published in 1869.",
        "The bigger the room, the higher the price.",
        "It is both cheap and safe.",
        "The drug may cause nausea, headache and dizziness.",
        "The tax rate is 20% for goods and 10% for services.",
        "Exercise can help children perform better in school, sleep better, and improve their mood.",
        "They scored 3,000 points, averaging a league high 37.1 points on 48 % shooting.",
    ],
)
def test_what_hangs_together_is_one_claim(text: str) -> None:
    assert said(text) == [text]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (
            'Go to My bookings and tap Change my seat. Then choose "Pay later" under My account.',
            ["Go to My bookings.", "Tap Change my seat.", 'Choose "Pay later" under My account.'],
        ),
        ("Open **My orders** and click *Return your item*.", ["Open My orders.", "Click Return your item."]),
        ("See the menu under **Help > My tickets**.", ["See the menu under Help > My tickets."]),
        ("**My account** shows invoices.", ["My account shows invoices."]),
        ("**Your refund** is on its way.", ["The user's refund is on its way."]),
        ("Run `git clone my-repo` with `my-app`.", ["Run git clone my-repo with my-app."]),
        (
            "The file `app/config.py` defines MAX_RETRIES=5; call `client.send(msg)` to send it.",
            ["The file app/config.py defines MAX_RETRIES=5.", "Call client.send(msg) to send it."],
        ),
        (
            "The parameter `limit` is required, and `limit` defaults to 50.",
            ["The parameter limit is required.", "limit defaults to 50."],
        ),
        ("`get_user(id)` returns None.", ["get_user(id) returns None."]),
        ("`--force` skips the check.", ["--force skips the check."]),
        ("iPhone users pay less.", ["iPhone users pay less."]),
        ('"Pay later" is free for members.', ['"Pay later" is free for members.']),
        ('Type "yes" in the box.', ['Type "yes" in the box.']),
        ('"It is old."', ["It is old."]),
        ("The I/O port is on the left.", ["The I/O port is on the left."]),
        ("World War I ended in 1918.", ["World War I ended in 1918."]),
        ("I'll tell you what it costs.", ["The assistant will tell the user what it costs."]),
        ("I sent you the link.", ["The assistant sent the user the link."]),
        ("Your order ships today 🎉", ["The user's order ships today."]),
    ],
)
def test_names_code_and_quotes_keep_their_letters(text: str, claims: list[str]) -> None:
    assert said(text) == claims


_ADDED = frozenset(("the", "assistant", "user", "unless", "if", "is", "was", "are", "an", "a", "s"))
"""Words that name the speakers, say a condition again, or make a sentence of an aside."""
_WORDS = st.sampled_from(
    re.findall(
        r"\S+",
        """the a museum fee towels children Vale opens costs cost travel is are was and , ; but so then while if unless
        otherwise you my Your My do not take add tap closes at 9 5% on Mondays free published by written who that which "
        no more than eight to in 1950 On If It they limited or ( ) - — . : closed""",
    )
)


@settings(max_examples=150, deadline=None, derandomize=True)
@example("if a , b otherwise")
@example("the museum opens , closes and ,")
@given(st.lists(_WORDS, min_size=1, max_size=30).map(" ".join))
def test_content_words_come_from_the_turn(text: str) -> None:
    known = set(re.findall(r"\w+", text.lower())) | _ADDED
    for claim in said(text):
        # "I take" is "the assistant takes".
        for word in re.findall(r"\w+", claim.lower()):
            assert {word, word.removesuffix("s"), word.removesuffix("es")} & known


_CODE = st.from_regex(r"[a-zA-Z_]{1,8}(?:[._/-][a-z_]{1,8}){1,3}(?:\(\))?", fullmatch=True)
_AROUND = st.sampled_from(
    [
        "The file {} sets the limit, and users edit it.",
        "Call {} twice and send it to me.",
        "If you run {}, it stops and the job is lost.",
        "{} is required, {} is not.",
        "I sent you {} and my colleague checks it.",
    ]
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(_AROUND, _CODE)
def test_identifiers_survive_letter_for_letter(around: str, code: str) -> None:
    text = around.replace("{}", f"`{code}`")
    assert code in " ".join(said(text))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(_WORDS, min_size=1, max_size=30).map(" ".join))
def test_spans_hold_the_words_of_their_claims(text: str) -> None:
    for claim in decompose(Turn(role=Role.ASSISTANT, text=text), ()):
        assert claim.span is not None
        last = re.findall(r"\w+", claim.text.lower())[-1]
        source = text[claim.span.start : claim.span.end]
        assert source == source.strip() != ""
        assert {last, last.removesuffix("s"), last.removesuffix("es")} & (
            {*re.findall(r"\w+", source.lower())} | _ADDED
        )


_LONG = [
    "The fee is 30 euros, and children under 6 travel free, but towels cost £2 and ",
    "tap My bookings and **Change my seat** under `my app` then ",
    "If you book online, you save 10%, otherwise ",
    "On Mondays, it opens at 9 and closes at 5. ",
    "I sent you **My orders** and ",
]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (
            "Which hall opened in 1850? The whale hall.",
            ["The whale hall opened in 1850."],
        ),
        ("Which hall is it? Sure, the whale hall is open.", ["The whale hall is open."]),
        ("What's next? Sure.", []),
    ],
)
def test_a_bare_name_answers_the_question_before_it(text: str, claims: list[str]) -> None:
    assert [claim.text for claim in decompose(Turn(role=Role.ASSISTANT, text=text), ())] == claims


@pytest.mark.parametrize("text", _LONG)
def test_work_grows_with_the_length_only(text: str) -> None:
    def calls(times: int) -> int:
        """Functions called while so many paragraphs, none of them read before, are taken apart."""
        turn = Turn(role=Role.ASSISTANT, text="\n\n".join([f"{100 + number} {text * 10}" for number in range(times)]))
        found = 0

        def count(*_: object) -> None:
            nonlocal found
            found += 1

        _read.cache_clear()
        sys.setprofile(count)
        try:
            decompose(turn, ())
        finally:
            sys.setprofile(None)
        return found

    calls(2)
    assert calls(80) < 10 * calls(10)
