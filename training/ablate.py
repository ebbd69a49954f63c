"""The gain of each family of the embedded judge's rules: ``python -m training.ablate --data DIR --rows FILE [--twins FILE]``.

Every family is switched off in turn, on development sets and on the attacks of the tests. Two figures a set: of what is fine, the
share of claims that are held; of what is wrong, the share of turns in which nothing is held. A markdown table shows how many
points each rises without the family; a row with ``only`` small or negative numbers is a rule that does not earn its place.
Each turn is judged once with all rules, and again without every family that changed something in it.
The counts of each turn are a line in the file of ``--rows``: a run that was stopped is resumed there, and ends with its table.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import inspect
import json
import multiprocessing
import os
import pkgutil
import random
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from tests.attacks import denials, frames, operators, speech, spellings
from tests.attacks.statements import STATEMENTS
from training.comparison.sets import THREE
from training.data import data_argument
from training.false_alarms import responses, statements
from training.sources.written import written
from training.suites import faithful, summaries
from training.suites.challenge import read_items
from training.two_readers import attributions
from training.worlds.build import build
from vista_guard.guard import Guard
from vista_guard.inference.weights import WEIGHTS
from vista_guard.judges import embedded
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.judges.embedded.english.asides import Clause
from vista_guard.judges.embedded.evidence import EvidenceSource
from vista_guard.judges.embedded.models import Calibration, CarefulReader, ClaimTypeHead, ShippedVerifier
from vista_guard.policy.turn_risk import HELD_AGAINST
from vista_guard.protocols import Verifier
from vista_guard.reading.canonical import Reading
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.types import Claim, Conversation, Document, Finding, Role, Turn
from vista_lab.datasets.files import whole
from vista_lab.datasets.pairs import SUPPORTED_CLASS
from vista_lab.datasets.sets import vista

Case = tuple[Conversation, bool]
"""A conversation that ends with a turn, and whether that is fine."""
LEAST = 0.3
"""Points from which a family earns its place."""


def grounded(said: str, document: str, asked: str = "", *, given: bool = False) -> Conversation:
    """A turn beside a document; if `given`, all of it is one claim."""
    before = (Turn(role=Role.USER, text=asked),) if asked else ()
    claims = (Claim(id="c1", text=said),) if given else None
    told = (Document(id="d", text=document),)
    return Conversation(turns=(*before, Turn(role=Role.ASSISTANT, text=said, documents=told, claims=claims)))


def answers(data: Path, twins: Path | None) -> Iterator[Case]:
    """MTRAG-UN reference answers and their falsified twins."""
    path = data / faithful.REFERENCE
    yield from ((one, True) for one in faithful.answerable(path))
    yield from ((one, False) for one in (faithful.falsified_twins(path, twins) if twins else ()))


def challenge() -> Iterator[Case]:
    """The development half."""
    for item in read_items("development"):
        for pair in item.pairs:
            yield item.saying(pair.right.text), True
            yield item.saying(pair.wrong.text), False


def annotated(data: Path) -> Iterator[Case]:
    """VISTA dev: each claim that people took from a turn, beside the turn's document."""
    for entry in whole(vista.read((data / "vista-human/human_eval_dev.json",))):
        for turn in entry.conversation.turns:
            document = "\n".join(one.text for one in turn.documents)
            for claim in turn.claims or ():
                yield grounded(claim.text, document, given=True), entry.labels[claim.id] not in HELD_AGAINST


def attacks() -> Iterator[Case]:
    """The forms that the tests put around statements and figures, those kept aside too."""
    for atoms in (speech.OPEN, speech.KEPT):
        for form, fact in speech.dealt(speech.forms(atoms), 1):
            for value, fine in ((fact.truth, True), (fact.lie, False)):
                yield grounded(form.said(fact, value), f"Guests praise the staff. {fact.plain}", form.asked(fact)), fine
    for spelt in spellings.forms().values():
        for year, fine in (("1925", True), ("1850", False)):
            yield grounded(spelt(year), "The whale hall opened in 1925.", "Tell me about the whale hall."), fine
    for told in (denials.DENIALS, denials.ASIDE):
        for true in (True, False):
            yield from ((grounded(text, one.plain), not true) for text, one in denials.filled(told, true=true, each=1))
    for figure in (*operators.FIGURES, *operators.ASIDE):
        for ways, fine in ((figure.same, True), (figure.other, False)):
            yield from ((grounded(claim, document), fine) for claim, document in figure.cases(ways))
    for number, frame in enumerate(frames.MENTIONS):
        one = STATEMENTS[number % len(STATEMENTS)]
        mention = frame.format(**one.forms(one.lie))
        yield grounded(one.false, mention[0].upper() + mention[1:]), False
    for number, frame in enumerate(frames.ASSERTIONS):
        one = STATEMENTS[number % len(STATEMENTS)]
        asserted = frame.format(**one.forms(one.truth))
        yield grounded(one.plain, asserted[0].upper() + asserted[1:]), True


def sets(data: Path, twins: Path | None, limit: int) -> Mapping[str, Sequence[Case]]:
    """The cases of each set, evenly thinned to about `limit`; answers and attacks are whole."""
    pairs = {"written": written(data, "dev"), "worlds": build(None, limit, 13, "development")}
    labelled = {
        name: (
            (grounded(pair.hypothesis, pair.premise, given=True), pair.allowed == (SUPPORTED_CLASS,)) for pair in found
        )
        for name, found in pairs.items()
    }
    told = {
        "challenge": challenge(),
        **labelled,
        "VISTA": annotated(data),
        "BEGIN": ((talk, fine[1]) for talk, fine in responses(data)),
        "FEVER": ((talk, fine[0]) for talk, fine in islice(statements(data), limit)),
        "SummEdits": ((one.conversation, one.consistent) for one in summaries.read(data)),
        "AttributionBench": ((one.conversation, one.gold == THREE[0]) for one in attributions(data)),
    }
    thinned = {name: thin([*cases], limit) for name, cases in told.items()}
    found = {"MTRAG-UN": [*answers(data, twins)], **thinned, "attacks": [*attacks()]}
    return {name: random.Random(13).sample(cases, len(cases)) for name, cases in found.items()}


def thin(cases: Sequence[Case], limit: int) -> Sequence[Case]:
    """Evenly spaced cases, as many of what is fine as of what is not where there are enough."""
    found = []
    for fine in (True, False):
        some = [case for case in cases if case[1] is fine]
        found += [some[int(place)] for place in np.linspace(0, len(some) - 1, min(len(some), limit // 2))]
    return found


class Remembered:
    """Asks a model for each text or pair once."""

    def __init__(self, ask: Callable[[Sequence[Any]], NDArray[np.float32]]) -> None:
        self._ask = ask
        self._known: dict[Hashable, NDArray[np.float32]] = {}

    def __call__(self, items: Sequence[Any]) -> NDArray[np.float32]:
        new = [item for item in dict.fromkeys(items) if item not in self._known]
        if new:
            self._known.update(zip(new, self._ask(new), strict=True))
        return np.stack([self._known[item] for item in items])


class Reader:
    """A verifier, remembered."""

    name = "remembered"

    def __init__(self, inner: Verifier) -> None:
        self.probabilities = Remembered(inner.probabilities)


class Embedder:
    """The shipped embedder, remembered."""

    def __init__(self) -> None:
        self.embed = Remembered(OnnxEmbedder().embed)


_PIECES = EvidenceSource.pieces
_ROOM = "vista_guard.judges.embedded"
_NEVER = re.compile("(?!)")


def _always(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


def _plain(text: str) -> Reading:
    return Reading(text, range(len(text)), range(1, len(text) + 1))


def _whole(sentence: str, offset: int) -> list[Clause]:
    return [Clause(offset, offset + len(sentence))]


def _first(said: Any, *_: Any, **__: Any) -> Any:
    return said


_FOLDING = ("judge", "support", "evidence", "mentions.passage", "english.decompose")
_READING = ("evidence", "mentions.passage", "english.decompose")
FAMILIES: Mapping[str, Mapping[str, Any]] = {
    "mentions: words of a sentence": {
        "mentions.clauses.complements": _always(()),
        "mentions.clauses.cues": _always(()),
    },
    "mentions: headings, labels, lead-ins": {"mentions.passage.kind_of": _always(None)},
    "mentions: questions and answers": {"mentions.passage._join_answer": _always(None)},
    "denials: of a neighbour": {"mentions.passage._denied_by": _always(())},
    "denials: of a turn": {
        "judge.as_meant": lambda claims, text: tuple(claims),
        "judge.denied_statement": _always(None),
    },
    "denials that deny nothing": {"mentions.clauses._NO_DENIAL": _NEVER},
    "figures: veto": {"support.lacking": _always(None)},
    "figures: nowhere": {"judge.missing_everywhere": _always(None)},
    "figures: other terms": {"support.other_terms": _always(None)},
    "figures: other limits": {"support.other_limit": _always(None)},
    "figures: another one contradicts": {"support.other_figure": _always(False)},
    "weekdays": {"support.missing_day": _always(None)},
    "figures: two that are computed": {"veto._is_computed": _always(False)},
    "names in the place of another": {"support.other_name": _always(None)},
    "one form of a date": {"judge.in_one_form": lambda evidence, claim: (evidence, claim)},
    "opposites": {"support.opposite_word": _always(None)},
    "what held once": {"support.bygone": _always(None)},
    "documents first": {"judge.is_mentioned": _always(False)},
    "support that is outranked": {"support.outranking": _always([])},
    "a document's own words": {"support._says": _always(False)},
    "canonical forms": {
        **{f"{name}.folded": _first for name in _FOLDING},
        **{f"{name}.canonical": _plain for name in _READING},
    },
    "reading between neighbours": {"evidence.Pool.windows": _always([])},
    "two sentences together": {
        "evidence.EvidenceSource.pieces": lambda self, claim, pair: _PIECES(self, claim, pair=False)
    },
    "headings and table headers": {"evidence.in_context": _first},
    "rows and items of another": {
        "layout.ParallelItem.stated": lambda _, said, *__: said,
        "layout.ParallelItem.cell": _always(""),
    },
    "clauses": {"english.decompose.clauses": lambda text, start, end: [Clause(start, end)]},
    "clauses: coordination": {
        "english.clauses._cut_coordination": lambda _, left, right, offset, said_of="": [
            Clause(offset + left, offset + right, said_of)
        ]
    },
    "asides": {"english.clauses.asides": _whole},
    "inside speech": {"judge.inner_statements": _always(())},
    "inside questions": {"english.decompose.presuppositions": _always(())},
    "pronouns": {"english.decompose.resolve_pronoun": lambda said, topic: (said, topic)},
    "answers: with their question": {"english.decompose.read_reply": lambda *_, **__: None},
    "answers: bare values": {"english.decompose.claims_of_values": _always(())},
    "values with a verb of their own": {"english.decompose._states_itself": _always(False)},
    "speakers": {"english.decompose.name_speakers": _first},
    "frames: I know that": {"english.decompose.KNOWN": _NEVER},
    "frames: I'm glad that": {"english.decompose.NOT_KNOWN": _NEVER, "english.decompose.REMARKED": _NEVER},
    "lost subjects": {"english.decompose.SUBJECTLESS": _NEVER},
    "tags": {"english.decompose.TAG": _NEVER},
    "items completed by their lead-in": {"english.decompose._is_completed": _always(False)},
    "cues: abstains": {"english.cues.abstains": _always(False)},
    "cues: a mind": {"english.cues.of_a_mind": _always(False)},
    "cues: advice and courtesies": {"english.cues._ADVICE": _NEVER, "english.cues._COURTESY": _NEVER},
    "cues: the assistant": {"english.cues.personal": _always(False)},
}
"""Names in the judge's room, and what takes their place."""


def place_of(name: str) -> tuple[Any, str]:
    """The module or class in the judge's room that has the name, and the name there."""
    owner, attribute = name.rsplit(".", 1)
    return pkgutil.resolve_name(f"{_ROOM}.{owner}"), attribute


class Listener:
    """Stands in the rules' places and keeps which families change anything: a turn is judged again without those alone."""

    def __init__(self) -> None:
        self.touched: set[str] = set()
        self.always = {
            family
            for family, changes in FAMILIES.items()
            if not all(callable(value) or value is _NEVER for value in changes.values())
        }
        for family, changes in FAMILIES.items():
            for name, instead in changes.items() if family not in self.always else ():
                owner, attribute = place_of(name)
                setattr(owner, attribute, self._heard(family, getattr(owner, attribute), instead))

    def _heard(self, family: str, rule: Any, instead: Any) -> Any:
        if instead is _NEVER:
            return HeardPattern(rule, lambda: self.touched.add(family))
        yields = inspect.isgeneratorfunction(inspect.unwrap(rule))

        def heard(*args: Any, **options: Any) -> Any:
            before = [list(one) if type(one) is list else one for one in args]
            found = list(rule(*args, **options)) if yields else rule(*args, **options)
            other = instead(*before, **options)
            other = list(other) if yields else other
            changed = [one for one, old in zip(args, before, strict=True) if type(one) is list and one != old]
            if changed or _shape(found) != _shape(other):
                self.touched.add(family)
            return iter(found) if yields else found

        return heard


def _shape(found: Any) -> Any:
    return found.text if isinstance(found, Reading) else found


class HeardPattern:
    """A pattern that tells when it matches."""

    def __init__(self, pattern: re.Pattern[str], tell: Callable[[], None]) -> None:
        self._pattern = pattern
        self._tell = tell

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def asked(*args: Any) -> Any:
            found = getattr(self._pattern, name)(*args)
            if found is not None:
                self._tell()
            return found

        return asked


def forget() -> None:
    """Clears what the judge's rules remember of texts."""
    for remembered in _remembered():
        remembered.cache_clear()


@lru_cache(maxsize=1)
def _remembered() -> Sequence[Any]:
    modules = [importlib.import_module(one.name) for one in pkgutil.walk_packages(embedded.__path__, f"{_ROOM}.")]
    found = (value for module in modules for value in vars(module).values() if hasattr(value, "cache_clear"))
    return [one for one in found if str(one.__module__).startswith(_ROOM)]


Counts = NDArray[np.int64]
"""Of one turn or many: claims of fine turns, of them held; wrong turns, of them with nothing held."""
_Row = tuple[str, Mapping[str, Counts]]


def kept_rows(file: Path, setting: str) -> dict[int, _Row]:
    """The rows of an earlier run with the same setting by the numbers of their cases; begins the file where there is none.

    Raises:
        SystemExit: the file belongs to a run with another setting.
    """
    if not file.exists():
        file.write_text(f"{json.dumps(setting)}\n", encoding="utf-8")
    first, *lines = file.read_text(encoding="utf-8").splitlines()
    if json.loads(first) != setting:
        raise SystemExit(f"{file} holds rows of another run ({first}); name another file, or repeat that run's options")
    rows = (json.loads(line) for line in lines)
    return {number: (name, {family: np.array(one) for family, one in counts.items()}) for number, name, counts in rows}


class Bench:
    """Judges turns with all rules, and without each family that changed something."""

    def __init__(
        self, cases: Sequence[tuple[str, Case]], families: Sequence[str], weights: Path, *, both: bool
    ) -> None:
        self._cases, self._families = cases, families
        self._listener = Listener()
        embedder, limits = Embedder(), Calibration.load(weights)
        quick = Reader(ShippedVerifier.load(limits, weights))
        careful = Reader(CarefulReader(limits.reader.max_length, weights)) if both and limits.reader else None
        judge = EmbeddedJudge(quick, embedder, ClaimTypeHead.load(weights), limits, reader=careful)
        self._guard = Guard(judge, "monitor", knowledge=MemoryKnowledge(embedder))

    def judged(self, number: int) -> _Row:
        """The set of a case, its counts with all rules under "", and those that differ without a family."""
        name, case = self._cases[number]
        self._listener.touched.clear()
        found = {"": self._counts(case)}
        for family in [one for one in self._families if one in self._listener.touched | self._listener.always]:
            with ExitStack() as stack:
                for place, instead in FAMILIES[family].items():
                    stack.enter_context(patch.object(*place_of(place), instead))
                found[family] = self._counts(case)
        return name, {family: counts for family, counts in found.items() if not family or any(counts != found[""])}

    def _counts(self, case: Case) -> Counts:
        forget()
        outcomes = asyncio.run(self._guard.acheck(case[0])).outcomes
        alarms = sum(isinstance(one, Finding) and one.label in HELD_AGAINST for one in outcomes)
        if case[1]:
            return np.array([len(outcomes), alarms, 0, 0])
        return np.array([0, 0, 1, alarms == 0 and all(isinstance(one, Finding) for one in outcomes)])


def summed(rows: Iterable[_Row], families: Sequence[str]) -> dict[str, dict[str, Counts]]:
    """Counts by family and set; those with all rules are under ""."""
    total: dict[str, dict[str, Counts]] = {family: {} for family in ("", *families)}
    for name, found in rows:
        for family, sets_ in total.items():
            sets_[name] = sets_.get(name, np.zeros(4, np.int64)) + found.get(family, found[""])
    return total


def shares(counts: Counts) -> tuple[float, float]:
    """In points: of the claims of fine turns those held, of the wrong turns those that pass."""
    return 100 * counts[1] / max(1, counts[0]), 100 * counts[3] / max(1, counts[2])


def table(total: Mapping[str, Mapping[str, Counts]]) -> Iterator[str]:
    """Markdown: the figures with all rules, and by how many points they rise without each family."""
    whole_rules = total[""]
    yield f"| without | {' | '.join(f'{name}: held | passed' for name in whole_rules)} | |"
    yield f"|---|{'---:|' * (2 * len(whole_rules))}---|"
    yield f"| (size) | {' | '.join(f'{counts[0]} | {counts[2]}' for counts in whole_rules.values())} | |"
    before = np.array([shares(counts) for counts in whole_rules.values()]).ravel()
    yield f"| (nothing) | {' | '.join(f'{share:.1f}' for share in before)} | |"
    for family in [one for one in total if one]:
        rises = np.array([shares(total[family][name]) for name in whole_rules]).ravel() - before
        cells = (f"{rise:+.1f}" if abs(rise) >= 0.05 else "" for rise in rises)
        yield f"| {family} | {' | '.join(cells)} | {'' if max(rises) >= LEAST else f'under {LEAST}'} |"


_WORK: list[Bench] = []


def _judged(number: int) -> tuple[int, _Row]:
    return number, _WORK[0].judged(number)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_argument(parser)
    parser.add_argument("--twins", type=Path, help="falsified answers, of training.turn_risk --twins FILE")
    parser.add_argument("--limit", type=int, default=300, help="cases of a set")
    parser.add_argument("--only", action="append", choices=FAMILIES, help="may be repeated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument(
        "--rows", type=Path, required=True, help="where the counts of each turn stand; resumed if it is there"
    )
    parser.add_argument("--weights", type=Path, default=WEIGHTS, help="the weights folder")
    parser.add_argument("--both", action="store_true", help="read open claims again with the careful reader")
    args = parser.parse_args()
    families = args.only or list(FAMILIES)
    found = sets(args.data, args.twins, args.limit)
    # In turn from all sets, so that a run that is stopped has seen some of each.
    cases = [
        (name, case) for row in zip_longest(*found.values()) for name, case in zip(found, row, strict=True) if case
    ]
    version = f"{Calibration.load(args.weights).version}{', both readers' if args.both else ''}"
    rows = kept_rows(args.rows, f"weights {version}, limit {args.limit}, {len(cases)} turns, families {families}")
    _WORK.append(Bench(cases, families, args.weights, both=args.both))
    left = [number for number in range(len(cases)) if number not in rows]
    with multiprocessing.get_context("fork").Pool(args.jobs) as workers, args.rows.open("a", encoding="utf-8") as file:
        for number, (name, counts) in workers.imap_unordered(_judged, left):
            rows[number] = name, counts
            listed = {family: one.tolist() for family, one in counts.items()}
            print(json.dumps([number, name, listed]), file=file, flush=True)
            if len(rows) % 100 == 0:
                print(f"{len(rows)} of {len(cases)} turns", file=sys.stderr, flush=True)
    print("\n".join(table(summed(rows.values(), families))))


if __name__ == "__main__":
    main()
