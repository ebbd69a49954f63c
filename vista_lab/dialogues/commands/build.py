"""`vista-guard knowmt build`: makes a question set from questions with reference answers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vista_guard.cli.common import exit_codes
from vista_lab.cli.options import MaxCostOption, VerifierOption, chat_model_of, verifier_of

if TYPE_CHECKING:
    from asyncio import Event
    from collections.abc import Callable

    from vista_lab.dialogues.question_sets import Built


def build(
    questions: Annotated[
        Path,
        typer.Argument(
            metavar="QUESTIONS",
            help="Questions with reference answers: JSON, JSONL or CSV with id, questions (one), answer; facts are kept.",
        ),
    ],
    model: Annotated[
        str, typer.Option(metavar="MODEL", help="openai:MODEL@URL, openai:MODEL or langchain:PROVIDER:MODEL.")
    ],
    out: Annotated[Path, typer.Option(metavar="SET", help="Folder of the set. A set made in the same way is resumed.")],
    verifier: VerifierOption = None,
    prompts: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="facts.txt, sequence.txt, extension.txt, review.txt.  [default: shipped ones]"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", help="Random seed for the number of turns.")] = 0,
    reviewed: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="consensus.jsonl of vista-guard agree on the form knowmt_facts or knowmt_sequences; give both. What people "
            "accept in both is reviewed, what they refuse in one is left out.",
        ),
    ] = None,
    max_cost: MaxCostOption = None,
    at_once: Annotated[int, typer.Option(min=1, metavar="N", help="Questions worked on at the same time.")] = 16,
) -> None:
    """Make dialogues that lead to your questions, and the facts of their answers, as KnowMT-Bench was made.

    A model takes facts from each answer and writes the questions before the last one, in the paper's forms; lengths of
    two to five turns are drawn in its proportions. These are refused: another last question, a repeated turn, facts
    given away, more than a tenth of the facts asked for earlier, drift. Writes manifest.json, records.jsonl,
    questions.jsonl for `vista-guard knowmt run`, and facts.jsonl and sequences.jsonl for `annotations export --form
    knowmt_facts` and `knowmt_sequences`. Dialogues that nobody reviewed are marked so. Exits with 0, 1 when questions
    are left, 2 for wrong usage or input, 130 after Ctrl-C.

    Example: `vista-guard knowmt build questions.jsonl --model openai:MODEL --out ours`
    """
    with exit_codes():
        from vista_lab.cli.long_runs import exit_unfinished, run_stoppable
        from vista_lab.dialogues.question_sets import QuestionSetMaker, read_reviews
        from vista_lab.dialogues.question_sets import build as run
        from vista_lab.dialogues.questions import read_questions

        read = read_questions(questions)
        for note in read.skipped:
            typer.echo(note, err=True)
        maker = QuestionSetMaker(chat_model_of(model, max_cost, at_once), verifier_of(verifier), seed, prompts)
        reviews = read_reviews(reviewed) if reviewed else None

        async def work(done: Callable[[int], None], stop: Event) -> Built:
            try:
                work_on = partial(run, read.items, questions, out, maker, reviews=reviews)
                return await work_on(at_once=at_once, told=done, stop=stop)
            finally:
                await maker.model.aclose()

        built, signals = run_stoppable("questions", len(read.items), work)
        typer.echo(_summary(built, out))
    exit_unfinished(signals, None if built.complete else f"{built.work.stopped or built.work.fault}")


def _summary(built: Built, out: Path) -> str:
    from vista_lab.dialogues.question_sets import QUESTIONS
    from vista_lab.runs.made import State

    lines = [
        f"{built.written:,} of {built.total:,} questions are in {out / QUESTIONS}, {built.reviewed:,} of them reviewed"
    ]
    lines += [f"  {count:>6,}  refused: {reason}" for reason, count in built.reasons.most_common()]
    left = built.states[State.ACCEPTED] - built.written
    return "\n".join([*lines, *([f"  {left:>6,}  refused: people said so"] if left else [])])
