"""Turns whose faithfulness is known by how they were made, or by people's word: what the risk is fitted and measured on.

Faithful: reference answers that people wrote from passages (MTRAG-UN, DSTC9), refusals where there was nothing to answer
from, responses and turns that people found attributable (BEGIN, VISTA). Unfaithful: the same answers with one fact made false,
with a statement of another conversation put in, beside another conversation's passages, or beside none; and what people
found so.

For fitting: MTRAG-UN conversations whose id ends in 5 to 9, DSTC9 but every tenth, BEGIN dev cmu and tc. For development:
MTRAG-UN conversations whose id ends in 0 to 4, BEGIN dev wow, VISTA dev.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Literal

from training import false_alarms
from training.sources import dstc9
from training.suites.faithful import REFERENCE, conversation_of
from training.suites.loaders import begin_responses, clean
from vista_guard.types import Conversation, Document, Role, Turn
from vista_lab.datasets.files import whole
from vista_lab.datasets.sets import begin as begin_set
from vista_lab.datasets.sets.mtrag import ANSWERABLE, GenerationTask, tasks
from vista_lab.oasis.rewriters.carrier import sentences
from vista_lab.oasis.rewriters.falsify import falsify_one_fact

Part = Literal["fit", "dev"]
DSTC9_ANSWERS = 300
WITHOUT_EVIDENCE = 3
"""One of so many answers is asked about without its passages: each is the same easy case."""


@dataclass(frozen=True)
class Case:
    """A conversation, and which of its turns are faithful, by place. ``group``: what must not be in two folds."""

    source: str
    kind: str
    group: str
    conversation: Conversation
    faithful: dict[int, bool]


def cases(data: Path, part: Part, seed: int = 13) -> Iterator[Case]:
    """All cases of a part, the same each time."""
    yield from mtragun(data, part, Random(seed))
    if part == "fit":
        yield from hotels(data, Random(seed))
        yield from begin(data, ("cmu", "tc"))
    else:
        yield from begin(data, ("wow",))
        yield from vista(data)


def twins(data: Path, part: Part) -> Iterator[tuple[str, str]]:
    """(task id, its answer with one fact made false) of MTRAG-UN's answerable turns, where a sure edit was found."""
    for number, task in enumerate(tasks_of(data, part)):
        if task.is_supported:
            told = [f"{passage.title or ''}\n{passage.text}" for passage in task.passages]
            false = falsify_one_fact(task.answer, told, number)
            if false:
                yield task.task, false


def tasks_of(data: Path, part: Part) -> list[GenerationTask]:
    """MTRAG-UN's tasks of a part."""
    return [task for task in whole(tasks(data / REFERENCE)) if task.development == (part == "dev")]


def mtragun(data: Path, part: Part, rng: Random) -> Iterator[Case]:
    """Reference answers, and what was made of them."""
    false = dict(twins(data, part))
    known = tasks_of(data, part)
    answered = [task for task in known if task.answerability[0] in ("ANSWERABLE", "PARTIAL") and task.passages]
    for task in known:
        if task.answerability == ("UNANSWERABLE",):
            yield _case("refusal", task, True)
    for number, task in enumerate(answered):
        whole_answer = task.answerability == (ANSWERABLE,)
        yield _case("reference" if whole_answer else "partial", task, True)
        other = rng.choice([one for one in answered if _stranger(one, task)])
        if task.task in false:
            yield _case("twin", replace(task, answer=false[task.task]), False)
        if whole_answer:
            yield _case("elsewhere", replace(task, passages=other.passages), False)
            foreign = rng.choice(_statements(other) or [""])
            if foreign:
                yield _case("foreign", replace(task, answer=_put_in(task.answer, foreign, rng)), False)
            if number % WITHOUT_EVIDENCE == 0:
                yield _case("bare", replace(task, passages=()), False)


def _stranger(other: GenerationTask, task: GenerationTask) -> bool:
    return other.conversation != task.conversation and other.collection == task.collection


def _statements(task: GenerationTask) -> list[str]:
    return [s for s in sentences(task.answer) if 8 <= len(s.split()) <= 40 and s[-1:] == "."]


def _put_in(answer: str, foreign: str, rng: Random) -> str:
    told = [s for s in sentences(answer) if answer.count(s) == 1]
    if not told:
        return f"{answer} {foreign}"
    after = rng.choice(told)
    return answer.replace(after, f"{after} {foreign}", 1)


def _case(kind: str, task: GenerationTask, faithful: bool) -> Case:
    conversation = conversation_of(task)
    return Case("mtragun", kind, task.conversation, conversation, {len(conversation.turns) - 1: faithful})


def hotels(data: Path, rng: Random) -> Iterator[Case]:
    """DSTC9 agents' answers beside the snippet that they tell, one that says the opposite, or others of the place."""
    found = list(dstc9.answers(data))
    same: dict[tuple[str, frozenset[str]], list[dstc9.Snippet]] = {}
    for places in {id(p): p for _, _, p in found}.values():
        for snippet in (s for group in places.values() for s in group):
            same.setdefault((snippet.domain, dstc9.topic(snippet)), []).append(snippet)
    for number, (snippet, told, places) in enumerate(rng.sample(found, DSTC9_ANSWERS)):
        others = dstc9.strangers(snippet, told, places[snippet.key])
        some = rng.sample(others, min(len(others), rng.randint(0, 4)))

        def page(
            picked: Sequence[dstc9.Snippet], about: dstc9.Snippet = snippet, some: list[dstc9.Snippet] = some
        ) -> str:
            shuffled = rng.sample([*picked, *some], len(picked) + len(some))
            return dstc9.page(shuffled, about, rng)

        own = page([snippet])
        yield _answer("dstc9", "reference", snippet.key, told, own, True)
        opposite = dstc9.contrary(snippet, told, same[snippet.domain, dstc9.topic(snippet)], rng)
        false = falsify_one_fact(told, [snippet.faq], number)
        if false and number % 2:
            yield _answer("dstc9", "twin", snippet.key, false, own, False)
        elif opposite:
            yield _answer("dstc9", "opposite", snippet.key, told, page([opposite]), False)
        elif some:
            yield _answer("dstc9", "elsewhere", snippet.key, told, page([]), False)


def begin(data: Path, names: Sequence[str]) -> Iterator[Case]:
    """BEGIN responses that people called fully attributable or not. Generic ones are left out: what they are is open."""
    for name in names:
        for number, row in enumerate(begin_responses(data / f"begin/begin_dev_{name}.tsv")):
            if row.label != begin_set.GENERIC and row.knowledge.strip():
                faithful = row.label == begin_set.FULLY
                text, told = clean(row.text), clean(row.knowledge)
                found = _answer(f"begin-{name}", "response", f"{name}-{number}", text, told, faithful)
                asked = Turn(role=Role.USER, text=clean(row.message))
                turns = (asked, *found.conversation.turns)
                yield replace(found, conversation=Conversation(turns=turns), faithful={1: faithful})


def vista(data: Path) -> Iterator[Case]:
    """VISTA dev conversations; a turn is faithful when people found every claim of it safe."""
    for number, (conversation, fine) in enumerate(false_alarms.conversations(data)):
        yield Case("vista", "turn", f"vista-{number}", conversation, fine)


def _answer(source: str, kind: str, group: str, text: str, document: str, faithful: bool) -> Case:
    turn = Turn(role=Role.ASSISTANT, text=text, documents=(Document(id="d", text=document),))
    return Case(source, kind, group, Conversation(turns=(turn,)), {0: faithful})
