"""A model that answers the generator's prompts from facts it knows, right or with a given fault.

The counterpart of `vista_guard.testing.gold_script`: with it a run must find the faults that were put in, and no others. Each
fact has three wordings of growing distance from its passage, so that gates can be measured by word overlap.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

from vista_guard.testing import ReceivedRequest

Wording = Literal["copy", "near", "free"]
WORDINGS: tuple[Wording, ...] = ("copy", "near", "free")

ANSWER_FAULTS = ("refusal", "cut", "not-a-claim", "prose", "broken")
"""Faults of the answer itself: all but `broken`, which can be mended, leave no pair."""


@dataclass(frozen=True)
class Fact:
    """A fact of a house in all its wordings. `false…`: its falsified versions. `same`: a paraphrase of the claim."""

    claim: str
    near: str
    free: str
    false: str
    false_near: str
    false_free: str
    same: str

    def told(self, wording: Wording) -> str:
        """The fact as a sentence of F."""
        return {"copy": self.claim, "near": self.near, "free": self.free}[wording]

    def told_falsely(self, wording: Wording) -> str:
        """The falsified fact as a sentence of U."""
        return {"copy": self.false, "near": self.false_near, "free": self.false_free}[wording]


_FACTS = tuple(
    tuple(block.splitlines())
    for block in Path(__file__).with_name("scripted_facts.txt").read_text("utf-8").split("\n\n")
)
"""The fields of a `Fact`, a line each, of a house {X}."""
_SYLLABLES = (
    "Ar", "Bel", "Cor", "Dun", "El", "Far", "Gal", "Hol", "Is", "Jor", "Kel", "Lun", "Mar", "Nor", "Or", "Pel",
)  # fmt: skip
_ENDS = ("den", "mouth", "wick", "ton", "by", "field", "holm", "stead", "worth", "gate", "ness", "dale")
_KINDS = ("Hall", "House", "Mill", "Barn", "Lodge", "Court", "Tower", "Manor")
_INVENTED = "The attic of {X} holds a printing press."
_LENGTHENED = "and so it has been for as long as anybody in the whole village can remember it"


@dataclass(frozen=True)
class House:
    """A document of the scripted corpus: five facts and the year of a sixth, and the fault that its answer will have."""

    name: str
    year: int
    facts: tuple[Fact, ...]
    wording: Wording
    fault: str = ""

    @property
    def text(self) -> str:
        """The document: the facts as they are, one passage."""
        return " ".join([f"{self.name} opened in {self.year}.", *(fact.claim for fact in self.facts)])


def houses(count: int, faults: Sequence[str] = (), share: float = 0.1, seed: int = 0) -> list[House]:
    """`count` houses; each fault is in `share` of them, and no house has two.

    Raises:
        ValueError: the faults do not fit.
    """
    per_fault = round(count * share)
    if per_fault * len(faults) > count:
        raise ValueError(f"{len(faults)} faults in {share:.0%} each do not fit into {count} houses")
    rng = Random(seed)
    names = rng.sample([f"{a}{b} {kind}" for a in _SYLLABLES for b in _ENDS for kind in _KINDS], count)
    drawn = [*(fault for fault in faults for _ in range(per_fault)), *[""] * (count - per_fault * len(faults))]
    rng.shuffle(drawn)
    return [
        House(
            name,
            rng.randint(1700, 1990),
            tuple(Fact(*(part.format(X=name) for part in fact)) for fact in rng.sample(_FACTS, 4)),
            WORDINGS[number % len(WORDINGS)],
            fault,
        )
        for number, (name, fault) in enumerate(zip(names, drawn, strict=True))
    ]


def answer_of(house: House) -> dict[str, Any]:
    """The model's answer to a house's passage, with its fault."""
    rng = Random(house.name)
    place = rng.randrange(len(house.facts))
    opened = f"{house.name} opened in {house.year}."
    claims = [opened, *(fact.claim for fact in house.facts)]
    first = opened if house.wording == "copy" else f"The year {house.year} saw the opening of {house.name}."
    factual = [first, *(fact.told(house.wording) for fact in house.facts)]
    fact, at = house.facts[place], place + 1
    unfactual = [*factual[:at], fact.told_falsely(house.wording), *factual[at + 1 :]]
    made = _Answer(claims, at, fact.false, factual, unfactual)
    if house.fault in _FAULTS:
        _FAULTS[house.fault](made, house, fact)
    altered = {"original": made.claims[made.at], "falsified": made.falsified}
    texts = {"factual": " ".join(made.told), "unfactual": " ".join(made.untold)}
    return {"claims": made.claims, "altered": altered, **texts}


@dataclass
class _Answer:
    """An answer being assembled."""

    claims: list[str]
    at: int
    falsified: str
    told: list[str]
    untold: list[str]

    @property
    def other(self) -> int:
        """The place of a claim that is not the altered one."""
        return 1 if self.at != 1 else 2


def _form(made: _Answer, house: House, fact: Fact) -> None:
    made.untold[made.at] += " (This is the altered claim.)"


def _length(made: _Answer, house: House, fact: Fact) -> None:
    made.claims[made.other] = f"{made.claims[made.other].rstrip('.')} {_LENGTHENED}."


def _subject(made: _Answer, house: House, fact: Fact) -> None:
    made.claims[0] = f"It opened in {house.year}."


def _value(made: _Answer, house: House, fact: Fact) -> None:
    made.at, made.falsified = 0, f"{house.name} opened in {house.year + 7}."
    made.untold = [made.told[0].replace(str(house.year), str(house.year + 7)), *made.told[1:]]


def _name(made: _Answer, house: House, fact: Fact) -> None:
    made.falsified = fact.claim.replace(house.name, "Quillby Abbey")
    made.untold = [*made.told]
    made.untold[made.at] = made.told[made.at].replace(house.name, "Quillby Abbey")


def _negated(made: _Answer, house: House, fact: Fact) -> None:
    made.at, made.falsified = 0, f"{house.name} did not open in {house.year}."
    made.untold = [made.falsified, *made.told[1:]]


def _two_stretches(made: _Answer, house: House, fact: Fact) -> None:
    made.untold[made.other] = house.facts[made.other - 1].told_falsely(house.wording)


def _twice(made: _Answer, house: House, fact: Fact) -> None:
    made.claims.append(made.claims[0].replace(" opened", " had opened"))


def _invented(made: _Answer, house: House, fact: Fact) -> None:
    for texts in (made.claims, made.told, made.untold):
        texts.append(_INVENTED.format(X=house.name))


def _not_false(made: _Answer, house: House, fact: Fact) -> None:
    made.falsified = fact.same
    made.untold = [*made.told]
    made.untold[made.at] = fact.same


def _elsewhere(made: _Answer, house: House, fact: Fact) -> None:
    made.falsified = f"The archive of {house.name} is closed to students."
    made.untold[made.at] = made.falsified


def _untold(made: _Answer, house: House, fact: Fact) -> None:
    del made.told[made.other], made.untold[made.other]


def _added(made: _Answer, house: House, fact: Fact) -> None:
    for told in (made.told, made.untold):
        told.append(_INVENTED.format(X=house.name))


def _still_true(made: _Answer, house: House, fact: Fact) -> None:
    made.untold[made.at] = fact.same if fact.same != made.told[made.at] else fact.near


def _lost(made: _Answer, house: House, fact: Fact) -> None:
    del made.untold[made.other]


_FAULTS: Mapping[str, Callable[[_Answer, House, Fact], None]] = {
    "form": _form,
    "claim-length": _length,
    "pronoun-subject": _subject,
    "values": _value,
    "names": _name,
    "naive-negation": _negated,
    "one-stretch": _two_stretches,
    "near-duplicate": _twice,
    "passage-carries-claim": _invented,
    "passage-contradicts-falsified": _not_false,
    "falsified-elsewhere": _elsewhere,
    "factual-carries-claim": _untold,
    "factual-adds-nothing": _added,
    "unfactual-carries-falsified": _still_true,
    "unfactual-carries-claim": _lost,
}


def archives(known: Sequence[House]) -> str:
    """A document that says of every house what its fault `falsified-elsewhere` calls false."""
    return " ".join(
        f"The archive of {house.name} is closed to students." for house in known if house.fault == "falsified-elsewhere"
    )


def pair_script(known: Sequence[House]) -> Callable[[ReceivedRequest], str]:
    """Answers the generator's prompts, unified or stepwise, about these houses, each with its fault.

    A request about none of them raises LookupError; the server then rejects the call.

    Examples:
        >>> from vista_guard.testing import ScriptedChatServer
        >>> server = ScriptedChatServer(pair_script(houses(20)))
    """
    by_name = {house.name: house for house in known}
    pattern = re.compile("|".join(sorted(map(re.escape, by_name), key=len, reverse=True)))

    def answer(request: ReceivedRequest) -> str:
        message = html.unescape(request.user)
        match = pattern.search(message)
        if match is None:
            raise LookupError(f"no scripted house stands in the user message, which begins {message[:200]!r}")
        return scripted_answer(by_name[match.group()], request.schema)

    return answer


def scripted_answer(house: House, schema: Mapping[str, Any] | None = None) -> str:
    """The model's words on a house: the fields that the schema asks for, all without one."""
    wanted = (schema or {}).get("required") or ["claims", "altered", "factual", "unfactual"]
    content = {name: value for name, value in answer_of(house).items() if name in wanted}
    text = json.dumps(content, ensure_ascii=False)
    match house.fault:
        case "refusal":
            return "I'm sorry, but I can't help with making false statements."
        case "cut":
            return text[: len(text) // 2]
        case "prose":
            return "Here is what I found. " + " ".join(answer_of(house)["claims"])
        case "not-a-claim" if "altered" in content:
            content["altered"] = {"original": "The moon shines on Sundays.", "falsified": "The moon shines on Mondays."}
            return json.dumps(content)
        case "broken":
            return "Sure! ```json\n" + text[:-1] + ",}\n```"
    return text
