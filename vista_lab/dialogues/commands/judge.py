"""`vista-guard knowmt judge`: checks the answers of a run against facts and reference answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vista_guard.cli.common import exit_codes
from vista_guard.errors import ConfigError
from vista_lab.cli.options import MaxCostOption, chat_model_of, verifier_of

if TYPE_CHECKING:
    from asyncio import Event
    from collections.abc import Callable

    from vista_guard.protocols import Decomposer
    from vista_lab.dialogues.judging import JudgedDialogues, PairJudge

QuestionsOption = Annotated[
    Path | None, typer.Option("--questions", metavar="FILE", help="The run's question set, if it was moved.")
]

TokensOption = Annotated[
    str | None,
    typer.Option(
        "--tokens",
        metavar="NAME",
        help="What tokens are: o200k_base (the paper's; needs tiktoken), the file o200k_base.tiktoken, or words.  [default: "
        "o200k_base where tiktoken has its table, else words]",
    ),
]

PromptsOption = Annotated[
    Path | None,
    typer.Option(
        "--prompts",
        metavar="FOLDER",
        help="entails.txt and contradicts.txt for the model that judges, statements.txt for scu:MODEL.  [default: shipped ones]",
    ),
]

CacheOption = Annotated[
    Path | None,
    typer.Option(
        "--cache", metavar="FOLDER", help="Keep a model's verdicts and lists here, for all runs.  [default: none]"
    ),
]

JUDGES = (
    "A verifier: shipped, hf:ORG/MODEL or a folder. Or a model that is asked twice a pair: openai:MODEL@URL, openai:MODEL or "
    "langchain:PROVIDER:MODEL. Or judge:NAME, any judge of the guard's."
)


def judge(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="Folder that vista-guard knowmt run wrote.")],
    decomposer: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Splits answers into claims: see vista-guard decompose --help; or scu:openai:MODEL, as the set's facts were "
            "made.",
        ),
    ] = "shipped",
    judge_name: Annotated[str, typer.Option("--judge", metavar="NAME", help=JUDGES)] = "shipped",
    prompts: PromptsOption = None,
    cache: CacheOption = None,
    questions: QuestionsOption = None,
    max_cost: MaxCostOption = None,
    at_once: Annotated[int, typer.Option(min=1, metavar="N", help="Answers judged at the same time.")] = 8,
) -> None:
    """Judge the last answers of a run: each fact against the answer, each statement of the answer against the
    reference.

    You may judge one run with several decomposers and judges, one after the other. A pair that a model leaves open
    after five samples is unjudged; the same command asks about it again. Writes statements.jsonl and judgements.jsonl.
    Exits with 0, 1 when something is left to judge, 2 for wrong usage or input, 130 after Ctrl-C.

    Example: `vista-guard knowmt judge runs/ours`
    """
    with exit_codes():
        from vista_guard.judges.composed import ensemble
        from vista_lab.cli.long_runs import exit_unfinished, run_stoppable
        from vista_lab.dialogues.judging import judge_dialogues, scored_answers
        from vista_lab.dialogues.scored import run_questions

        read = run_questions(folder, questions)
        takes_apart = _decomposer(decomposer, prompts, cache, max_cost, at_once)
        pairs = pair_judge(judge_name, prompts, max_cost, at_once, cache)

        async def work(done: Callable[[int], None], stop: Event) -> JudgedDialogues:
            try:
                return await judge_dialogues(
                    folder, read.items, takes_apart, pairs, at_once=at_once, told=done, stop=stop
                )
            finally:
                await pairs.aclose()
                await ensemble.aclose(takes_apart)

        judged, signals = run_stoppable("answers", sum(1 for _ in scored_answers(folder)), work)
        typer.echo(_summary(judged, pairs.name, folder))
    unfinished = judged.work.stopped or judged.work.unasked or judged.reasons
    why = judged.work.stopped or judged.work.fault or f"{judged.unjudged:,} pairs are unjudged"
    exit_unfinished(signals, why if unfinished else None)


def _decomposer(
    name: str, prompts: Path | None, cache: Path | None, max_cost: float | None, at_once: int
) -> Decomposer:
    from vista_guard.judges.decomposers.named import build_decomposer, cached
    from vista_guard.settings.sources import Settings
    from vista_guard.stores.entries import OnnxEmbedder
    from vista_lab.dialogues.question_sets import ScuDecomposer

    if name.startswith("scu:"):
        model = chat_model_of(name.removeprefix("scu:"), max_cost, at_once, option="--decomposer scu:")
        return cached(ScuDecomposer(model, prompts), cache)
    settings = Settings.load()
    built = build_decomposer(name, OnnxEmbedder(), settings.decomposer_options, settings.model)
    assert built is not None  # it has a name
    return cached(built, cache)


def pair_judge(
    name: str, prompts: Path | None, max_cost: float | None, at_once: int, cache: Path | None = None
) -> PairJudge:
    """Builds a judge of pairs by its name: a chat model that is asked twice, a judge of the guard's, or a verifier.

    Raises ConfigError: the name is unknown, or prompts are given for something other than a model.
    """
    from vista_guard.judges.named import build_judge
    from vista_guard.settings.sources import Settings
    from vista_guard.stores.entries import OnnxEmbedder
    from vista_lab.dialogues.judging import CachedPairs, JudgePairs, ModelPairs, VerifierPairs

    pairs: PairJudge
    if name.startswith(("openai:", "langchain:")):
        pairs = ModelPairs(chat_model_of(name, max_cost, at_once, option="--judge"), prompts)
    elif prompts is not None and not (prompts / "statements.txt").exists():
        raise ConfigError(f"--prompts are of a model; --judge {name} is none")
    elif name.startswith("judge:"):
        pairs = JudgePairs(build_judge(Settings.load(judge=name.removeprefix("judge:")), OnnxEmbedder()))
    else:
        pairs = VerifierPairs(verifier_of(None if name == "shipped" else name))
    return pairs if cache is None else CachedPairs(pairs, cache / "pairs")


def _summary(judged: JudgedDialogues, name: str, folder: Path) -> str:
    lines = [f"{judged.pairs:,} pairs of {judged.answers:,} answers are judged by {name}, in {folder}"]
    lines += [f"  {count:>6,}  not judged: {reason}" for reason, count in judged.reasons.most_common()]
    return "\n".join(lines)
