"""Answers that need their question: what a user asks or says, and short replies that affirm, deny, choose or fill in.

Every form comes with a fact, once so that it claims the truth and once so that it claims the lie.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

from tests.attacks.speech import FACTS
from tests.attacks.statements import Statement


@dataclass(frozen=True)
class Case:
    """A user's turn, a reply, the document, and whether the reply's claim is true."""

    kind: str
    asked: str
    reply: str
    document: str
    holds: bool


@dataclass(frozen=True)
class State:
    """A yes-or-no matter; `holds` says whether the document agrees."""

    aux: str
    subject: str
    rest: str
    pronoun: str
    document: str
    holds: bool

    @property
    def question(self) -> str:
        return f"{self.aux} {self.subject} {self.rest}"

    @property
    def statement(self) -> str:
        return f"{self.subject} {self.aux} {self.rest}"


STATES = (
    State("is", "breakfast", "included", "it", "Breakfast is included in every rate.", holds=True),
    State("is", "breakfast", "included", "it", "Breakfast is not included in the rate.", holds=False),
    State("is", "the pool", "open on Mondays", "it", "The pool is closed on Mondays.", holds=False),
    State("is", "the pool", "closed on Mondays", "it", "The pool is closed on Mondays.", holds=True),
    State("are", "dogs", "allowed in the garden", "they", "Dogs are not allowed in the garden.", holds=False),
    State("are", "dogs", "allowed in the hall", "they", "Dogs are allowed in the hall.", holds=True),
    State("is", "parking", "free", "it", "Parking is free for all guests.", holds=True),
    State("is", "the west trail", "open in winter", "it", "The west trail is closed in winter.", holds=False),
    State("is", "the sauna", "closed in July", "it", "The sauna is closed in July.", holds=True),
    State("is", "the tower", "accessible by wheelchair", "it", "The tower is not accessible by wheelchair.", holds=False),
)  # fmt: skip


def _ticks(fact: Statement) -> tuple[str, str]:
    """The tag and the echo of a fact."""
    pronoun = "she" if fact.subject[0].isupper() and "Creek" not in fact.subject else "it"
    return f"{fact.aux}n't {pronoun}", f"{pronoun} {fact.aux}"


ASKING = (
    "{Q}?",
    "Hi! {Q}? Thanks in advance.",
    "Do you know whether {s}?",
    "{S}, {tag}?",
    "Is it true that {s}?",
    "Could you confirm that {s}?",
    "So {s}?",
    "{S}, right?",
    "I read somewhere that {s}. Is that correct?",
)
STATING = ("{S}.", "I think {s}.", "A friend told me that {s}.", "Thanks! As I see it, {s}.", "{S}! Good to know.")
YES = (
    "Yes.", "Yes!", "yep", "Yeah, sure.", "Indeed.", "Correct.", "True.", "Absolutely!", "Definitely.", "Certainly.",
    "I'm afraid so.", "Unfortunately, yes.", "👍", "✅", "Sí.", "Oui.", "Ja, genau.", "Da.", "{Echo}.", "Yes, {echo}.",
    "Indeed {echo}.", "That's right.", "That is correct.", "I can confirm that.", "My sources say exactly that.",
    "That's what the documents say.", "Without a doubt.", "As far as I know, yes.", "I believe so.", "Yes. Have a nice day!",
    "Hello! Yes, that's right.", "Quite right.", "Yes, and the staff is glad to help you.", "The documents confirm it.",
)  # fmt: skip
AGREED = (
    "Exactly.", "You are right.", "You're absolutely right!", "As you say.", "Precisely.", "That's correct, yes.",
    "I agree.", "Right you are.", "Well said, that is the case.", "Spot on!", "You got it.", "True indeed.",
)  # fmt: skip
NO = (
    "No.", "No!", "Nope.", "Nope, not at all.", "Not at all.", "Unfortunately not.", "I'm afraid not.", "False.", "Wrong.",
    "That's wrong.", "That is not correct.", "👎", "❌", "Nein.", "Non.", "{Echo} not.", "No, {echo} not.", "By no means.",
    "That's not the case.", "I don't think so.", "As far as I know, no.", "No. Anything else?", "The documents deny that.",
)  # fmt: skip
VALUES = (
    "{a}",
    "{A}.",
    "{value}.",
    "It's {value}.",
    "That would be {value}.",
    "{A}, as far as I know.",
    "**{value}**",
    "- {value}",
)
CHOOSING = (
    ("{Q} or {b}?", "The first.", "The second."),
    ("{Q} or {b}?", "The former, I believe.", "The latter, I believe."),
    ("{Q} or {b}?", "The one you named first.", "The one you named last."),
    ("{Q} or {b}?", "{value}.", "{other}."),
    ("{Q} or {b}?", "Not the second one.", "Not the first one."),
    ("{W}, {value} or {b}?", "The former.", "The latter."),
)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _yes_and_no(kind: str, asking: Sequence[str], replies: Sequence[str], *, affirms: bool) -> Iterator[Case]:
    """Each reply to two askings: once about a figure or name, true and false, once about a state."""
    facts, states, ways = cycle(FACTS), cycle(STATES), cycle(asking)
    for reply in replies:
        for value in ("truth", "lie"):
            fact, (tag, echo) = (fact := next(facts)), _ticks(fact)
            said = fact.truth if value == "truth" else fact.lie
            fields = fact.forms(said) | {"tag": tag, "echo": echo, "Echo": _capital(echo)}
            asked = next(ways).format(**fields)
            yield Case(kind, asked, reply.format(**fields), fact.plain, (value == "truth") == affirms)
        for state in (next(states), next(states)):
            echo = f"{state.pronoun} {state.aux}"
            fields = {"q": state.question, "Q": _capital(state.question), "s": state.statement, "echo": echo}
            fields |= {"S": _capital(state.statement), "Echo": _capital(echo), "tag": f"{state.aux}n't {state.pronoun}"}
            asked = next(ways).format(**fields)
            yield Case(kind, asked, reply.format(**fields), state.document, state.holds == affirms)


def _values() -> Iterator[Case]:
    """Bare values after a question for one."""
    for number, form in enumerate(VALUES):
        for fact in FACTS[number % 2 :: 2]:
            for value in (fact.truth, fact.lie):
                short = value.removesuffix(" long")
                fields = fact.forms(short)
                fields["A"] = _capital(fields["a"])
                yield Case("value", f"{fact.open_question}?", form.format(**fields), fact.plain, value == fact.truth)


def _choices() -> Iterator[Case]:
    """Two alternatives, the truth first or last, and a reply that picks one."""
    for number, (asked, first, last) in enumerate(CHOOSING):
        for fact in FACTS[number % 3 :: 3]:
            for one, other in ((fact.truth, fact.lie), (fact.lie, fact.truth)):
                fields = fact.forms(one) | {"b": other, "other": other}
                for reply, picked in ((first, one), (last, other)):
                    yield Case(
                        "choice", asked.format(**fields), reply.format(**fields), fact.plain, picked == fact.truth
                    )


LABELS = (
    ("Where does the book club meet?", "Room 12", "Room 14", "The book club meets in room 12."),
    ("Where does the choir rehearse?", "In room 7.", "In room 9.", "The choir rehearses in room 7."),
    ("Which platform does the train leave from?", "Platform 3", "Platform 5", "The train leaves from platform 3."),
    ("Which gate does the flight board at?", "Gate B4", "Gate C4", "The flight boards at gate B4."),
    ("How much does the map cost?", "€12", "€19", "The map costs €12."),
    ("How long does the walk take?", "40 minutes", "95 minutes", "The walk takes 40 minutes."),
    ("Who leads the tour?", "Ana Ferreira", "Rui Costa", "Ana Ferreira leads the tour."),
    ("Who is the head chef?", "Mio Tanaka.", "Lars Berg.", "The head chef is Mio Tanaka."),
    ("Who wrote the guide?", "It's Ada Lund.", "It's Bo Strand.", "Ada Lund wrote the guide."),
    ("What is the capital of Latvia?", "Riga", "Vilnius", "Riga is the capital of Latvia. Vilnius is the capital of Lithuania."),
    ("When is the market open?", "On Saturdays.", "On Thursdays.", "The market is open on Saturdays."),
    ("When is the beach bar open?", "Only in summer.", "Only in winter.", "The beach bar is open only in summer."),
    ("Why was the ferry cancelled?", "Because of fog.", "Because of a strike.", "The ferry was cancelled because of fog."),
    ("What is the door code?", "4471", "4417", "The door code is 4471."),
    ("What's the name of the boat?", "Silver Gull", "Black Heron", "The name of the boat is Silver Gull."),
    ("Does the ferry leave at 9 am?", "No, at 7 am.", "No, at 8 am.", "The ferry leaves at 7 am."),
    ("Is the guide Rui Costa?", "No, Ana Ferreira.", "No, Mio Tanaka.", "The guide is Ana Ferreira."),
    ("Is it 318 or 731?", "The one you named first.", "The one you named last.", "It is 318."),
)  # fmt: skip


def cases() -> list[Case]:
    """All cases, in a fixed order."""
    labels = [
        Case("label", asked, reply, document, reply == true)
        for asked, true, lie, document in LABELS
        for reply in (true, lie)
    ]
    return [
        *_yes_and_no("yes", (*ASKING, *STATING), YES, affirms=True),
        *_yes_and_no("agreed", (*STATING, *ASKING[3:]), AGREED, affirms=True),
        *_yes_and_no("no", (*ASKING, *STATING), NO, affirms=False),
        *_values(),
        *_choices(),
        *labels,
    ]


OTHER_FACTS = (
    ("is the rooftop bar open in winter", "the rooftop bar is open in winter", "The rooftop bar is closed in winter.", False),
    ("does the shuttle stop at the harbour", "the shuttle stops at the harbour", "The shuttle stops at the harbour.", True),
    ("do children under six travel free", "children under six travel free", "Children under six travel free.", True),
    ("was the lighthouse built in 1874", "the lighthouse was built in 1874", "The lighthouse was built in 1791.", False),
    ("does the warranty cover rust", "the warranty covers rust", "The warranty does not cover rust.", False),
    ("can visitors take photos", "visitors can take photos", "Visitors can take photos.", True),
    ("is late checkout free on Sundays", "late checkout is free on Sundays", "Late checkout is free on Sundays.", True),
    ("did Nora Falk compose the anthem", "Nora Falk composed the anthem", "Oskar Brandt composed the anthem.", False),
    ("are the tours held in Spanish", "the tours are held in Spanish", "The tours are held in English.", False),
    ("has the south wing reopened", "the south wing has reopened", "The south wing has reopened.", True),
    ("does the gym close at 10 pm", "the gym closes at 10 pm", "The gym closes at 10 pm.", True),
    ("does the gym close at 11 pm", "the gym closes at 11 pm", "The gym closes at 10 pm.", False),
)  # fmt: skip
OTHER_ASKING = (
    "Just to double-check: {q}?", "I was told {s}. Could you verify?", "Am I correct in thinking that {s}?", "{S}, correct?",
    "If I understand correctly, {s}.", "Quick question – {q}?", "One more thing. {Q}?", "I believe {s}, don't I?",
    "My guidebook says {s}. True?", "{S}. Can you confirm this?", "{S}? Really?", "We heard that {s}.",
    "Good evening. I was wondering if {s}.", "Please confirm that {s}.", "{S}, no?", "Hey! So I guess {s}?",
    "Let me get this straight: {s}?", "{Q}?", "{S}.",
)  # fmt: skip
OTHER_YES = (
    "Yes, that's accurate.", "Sure does, yes.", "Certainly, madam.", "Yes sir!", "You've got that right.", "Why, yes.",
    "Yes of course", "Yes - absolutely", "Correct, as stated in the documents.", "According to our records, yes.",
    "Yes, correct. Let me know if you need anything else.", "I can only confirm what you said.", "Your information is correct.",
    "Your understanding is right.", "That is exactly what our website says.", "100 % yes", "👍👍", "✔️", "Sim.", "Jawohl!",
    "Sì.", "Great question! Yes.", "The answer is yes.", "It's a yes from me.", "I'd have to say yes.", "You're spot on.",
    "What you say is true.", "Yes (see the documents).",
)  # fmt: skip
OTHER_NO = (
    "No, sorry.", "I'm sorry, but no.", "Sadly, no.", "That isn't true.", "That's not right, I'm afraid.", "Not quite.",
    "You're wrong about that.", "The answer is no.", "According to our records, no.", "I have to disagree.", "On the contrary.",
    "Absolutely not!", "Of course not.", "No, that's a mistake.", "Não.", "👎👎", "Your information is wrong.",
    "I'd have to say no.", "Quite the opposite.", "No indeed.", "Unfortunately that's not the case.", "No (see the documents).",
)  # fmt: skip


def other_cases() -> list[Case]:
    """Other askings, replies and facts, written after the rules were made."""
    found = []
    for affirms, replies in ((True, OTHER_YES), (False, OTHER_NO)):
        for number, reply in enumerate(replies * 2):
            question, statement, document, holds = OTHER_FACTS[number * 5 % len(OTHER_FACTS)]
            fields = {"q": question, "Q": _capital(question), "s": statement, "S": _capital(statement)}
            asked = OTHER_ASKING[number * 3 % len(OTHER_ASKING)].format(**fields)
            found.append(Case("other", asked, reply, document, holds == affirms))
    return found


POOL = "Marlow lido is closed on Mondays. Entry costs 6 euros. Children under five swim for free."
ROUTER = "The R4 router supports WPA3. It has four LAN ports and one USB port. It does not support mesh networking."
KEEP = (
    "Eltham Keep can be visited only with a guide. Otto Ferrer rebuilt the keep in 1903. Dogs are not allowed inside."
)
PLAN = "The Breeze plan includes 20 GB of data. Withdrawals abroad cost 2 percent. Roaming in Norway is not included."
HOTEL = "Breakfast is included in the price. The Alder hotel has no pool. Parking costs 14 euros a night."
FAIR = "The fair takes place from 12 to 15 June in Riverside Park. Tickets are sold only online. Kora Blue plays on Saturday."
SPOKEN = (
    (POOL, "is marlow lido open on mondays", "Not on Mondays, no.", "Yep, all day."),
    (POOL, "mondays closed?", "yup", "nope"),
    (POOL, "ah ok. so marlow lido is closed mondays?", "That's it.", "That's not how it is."),
    (POOL, "So Marlow lido costs 8 euros, I guess?", "Not quite, it's 6.", "Spot on!"),
    (POOL, "Is the lido closed on Mondays, is that still so?", "Still true.", "Not any more."),
    (POOL, "Is it closed on Mondays? And does it cost 6 euros?", "Yes to both.", "Neither."),
    (ROUTER, "what about mesh, does the R4 support it", "It doesn't.", "Yes it does!"),
    (ROUTER, "how many lan ports", "Four of them.", "Nope, 9."),
    (ROUTER, "The R4 doesn't do WPA3, am I right?", "No, it does.", "You're right."),
    (ROUTER, "I have an R4, does it have a USB port?", "It does, just one.", "It hasn't got one."),
    (ROUTER, "Please confirm: the R4 supports WPA3.", "Confirmed.", "I can't confirm that, it doesn't."),
    (ROUTER, "WPA2 or WPA3 on the R4?", "It supports WPA3.", "It supports WPA2."),
    (KEEP, "dogs allowed in the keep?", "No dogs, sorry.", "yes they are"),
    (KEEP, "So dogs aren't allowed inside Eltham Keep?", "Right, they aren't.", "They are, as long as they're quiet."),
    (KEEP, "Can one visit Eltham Keep without a guide?", "Only with a guide.", "One can."),
    (KEEP, "Who was it that rebuilt Eltham Keep?", "Otto Ferrer.", "Hans Vogel."),
    (KEEP, "Can I bring my dog inside Eltham Keep?", "That's not possible.", "It's totally fine."),
    (PLAN, "Are withdrawals abroad free?", "No, they cost 2 percent.", "As far as I can see, they are."),
    (PLAN, "roaming in norway?", "It's not included.", "It's included."),
    (PLAN, "Is roaming in Norway included, or does it cost extra?", "It's not included.", "It's included."),
    (PLAN, "How much data do I get with the Breeze plan?", "20 gigs 🎉", "50 gigs 🎉"),
    (HOTEL, "Is there a pool at the Alder hotel?", "There isn't one.", "There's one."),
    (HOTEL, "Alder hotel has no pool. Am I right?", "You are.", "You're wrong there."),
    (HOTEL, "And breakfast, is it included?", "It is.", "It isn't."),
    (HOTEL, "Any pool?", "None.", "Yes, a pool."),
    (HOTEL, "great. and parking?", "That's 14 euros a night.", "That's 20 euros a night."),
    (HOTEL, "Is parking 14 euros per night or per stay?", "Per night.", "Not per night."),
    (FAIR, "where's the fair", "Riverside Park 🎡", "At the old harbour."),
    (FAIR, "Kora Blue plays on Saturday. Or was it Sunday?", "Saturday.", "Sunday."),
    (FAIR, "Are tickets sold at the entrance of the fair?", "They aren't, only online.", "They are."),
    (FAIR, "When is the fair?", "June 12–15", "June 20–25"),
)  # fmt: skip
"""A document, a question as people type or say it, a true and a false answer."""


def spoken_cases() -> list[Case]:
    """Questions and answers as people type or say them."""
    return [
        Case("spoken", asked, reply, document, holds)
        for document, asked, truth, lie in SPOKEN
        for reply, holds in ((truth, True), (lie, False))
    ]


COURTESIES = (
    ("Thanks, that's great!", "👍"),
    ("Thank you so much!", "You're welcome!"),
    ("Hello!", "Hello! How can I help you?"),
    ("Great, thanks for your help.", "Great!"),
    ("Can you help me?", "Yes, of course."),
    ("Could you book a table for me?", "Sure, one moment."),
    ("I'd like to ask you something.", "Of course!"),
    ("Please tell me about the whale hall.", "Sure!"),
    ("Can I ask you a question?", "Absolutely!"),
    ("I'm planning a trip with my kids.", "Great!"),
    ("Would you mind checking that for me?", "Not at all."),
    ("What a lovely museum!", "Indeed!"),
    ("Good morning", "👍"),
    ("I love whales.", "Me too!"),
    ("How are you?", "Fine, thanks! And you?"),
    ("What a nice hotel!", "It is!"),
    ("May I ask you something?", "Yes, go ahead."),
    ("Please look up the opening hours.", "Let me check."),
    ("is the pool open", "Which pool do you mean?"),
    ("I'll take the blue one.", "Excellent choice!"),
)
"""Exchanges that claim nothing."""
