"""`vista-guard knowmt run`: holds the dialogues of a question set with assistants."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from vista_guard.cli.common import EmbedderOption, exit_codes
from vista_guard.errors import ConfigError, InputError
from vista_lab.cli.options import DataOption, MaxCostOption, chat_model_of
from vista_lab.dialogues.commands.judge import TokensOption

if TYPE_CHECKING:
    from asyncio import Event
    from collections.abc import Callable, Mapping, Sequence

    from vista_guard.protocols import DocumentStore, Embedder
    from vista_lab.dialogues.asking import Assistant, DialogueCounts, DialogueJob, Dialogues, Past
    from vista_lab.dialogues.noise import OwnTurns, WrongAnswer
    from vista_lab.dialogues.questions import QuestionSet
    from vista_lab.dialogues.retrieving import PassageFinder
    from vista_lab.dialogues.scored import Cohort
    from vista_lab.dialogues.settings import DialogueSetting


def run(
    name: Annotated[
        str,
        typer.Argument(
            metavar="SET",
            help="Question set: JSON, JSONL or CSV with id, questions, answer, facts, domain, documents; or knowmt, with --data.",
        ),
    ],
    model: Annotated[
        list[str],
        typer.Option(
            metavar="MODEL",
            help="openai:MODEL@URL, openai:MODEL, langchain:PROVIDER:MODEL, agent:MODULE:NAME, a function of messages or of text "
            "and thread_id, or answers:LOG, transcripts; may be repeated.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Folder of the run. A run made in the same way is resumed.")
    ],
    setting: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SETTING",
            help="single or multi, with +drift, +concat, +budget=TOKENS, +swap=RUN, +static=LOG, +noise=KIND (irrelevant, "
            "irrelevant-error, relevant-error), +rag=WHEN (base, last, rounds, all, last@code), +mitigate=HOW (simple, "
            "summarize, select, self-refine), +guard=POLICY, @history or @final; may be "
            "repeated.  [default: single and multi]",
        ),
    ] = None,
    preset: Annotated[
        Literal["paper"] | None,
        typer.Option(help="paper: the paper's settings; those that need another run too where --baseline names it."),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN", help="For noise: a judged run of the same set and models, in the settings single and multi."
        ),
    ] = None,
    errors: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="For noise: wrong answers to the question before the last, JSON lines of id (an item's), answer and, with "
            "several models, model; or a run's noise.jsonl.  [default: the model's own, falsified by rule, with the extra oasis]",
        ),
    ] = None,
    reviewed: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="For noise: consensus.jsonl of vista-guard agree on a noise.jsonl, form knowmt_pairs; people's word on errors.",
        ),
    ] = None,
    judge: Annotated[
        str,
        typer.Option(metavar="NAME", help="For noise: says whether an error is one, as of vista-guard knowmt judge."),
    ] = "shipped",
    references: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|oracle",
            help="Documents of the items: [{sample_id, reference}] as JSON; oracle: the reference answers.  [default: the set's]",
        ),
    ] = None,
    corpus: Annotated[
        str | None,
        typer.Option(
            metavar="set|FOLDER",
            help="For rag: one pool for all items, of all their documents (set), or the store that vista-guard documents add "
            "filled (its --data-dir).  [default: each item's own documents]",
        ),
    ] = None,
    embedder: EmbedderOption = None,
    reranker: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="For rag: shipped, hf:ORG/MODEL, a folder, openai:MODEL@URL or langchain:PROVIDER:MODEL.",
        ),
    ] = "shipped",
    max_tokens: Annotated[int, typer.Option(min=1, metavar="N", help="Maximum tokens of a model's answer.")] = 1024,
    cut: Annotated[
        Literal["count", "drop"] | None,
        typer.Option(
            help="An answer cut at that limit counts as it is (KnowMT-Bench, App. G), or is no answer and asked for again.  "
            "[default: count with --preset paper, else drop]"
        ),
    ] = None,
    tokens: TokensOption = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[MODEL=]FILE", help="System prompt, of one model or of all; may be repeated.  [default: none]"
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the first N items.  [default: all]")
    ] = None,
    data: DataOption = None,
    max_cost: MaxCostOption = None,
    at_once: Annotated[int, typer.Option(min=1, metavar="N", help="Dialogues held at the same time.")] = 16,
) -> None:
    """Ask assistants the questions of a set, turn by turn or only the last one, and record every answer.

    With guard=POLICY the assistant is wrapped in the guard: the delivered text becomes history and is scored. The guard
    checks answers against the retrieved passages, else the items' documents; without any, only guard=monitor runs. A
    refused, empty, cut-and-dropped or missing answer is recorded with the reason, and the same command asks for it
    again; the dialogue's later turns are not asked. Noise replaces the turn before the last in items that the model
    answers well alone (S_f of .6, nothing contradicted) by one of its own, with an error or of another item; an error
    counts once the judge or people confirm it, and no turn tells a fact of the reference. Writes manifest.json,
    answers.jsonl, reports.jsonl of guards and noise.jsonl. Exits with 0, 1 when dialogues are left without an answer, 2
    for wrong usage or input, 130 after Ctrl-C.

    Example: `vista-guard knowmt run questions.jsonl --model openai:MODEL --out runs/ours`
    """
    with exit_codes():
        from vista_lab.cli.long_runs import exit_unfinished, run_stoppable
        from vista_lab.dialogues.asking import Dialogues, ask
        from vista_lab.dialogues.retrieving import with_references
        from vista_lab.dialogues.settings import paper_settings, read_setting
        from vista_lab.dialogues.tokens import WORDS, token_counter

        question_set, place = _questions(name, data, limit)
        if references is not None:
            question_set = replace(question_set, items=tuple(with_references(question_set.items, references)))
        paper = paper_settings(*_baseline(baseline)) if preset else []
        settings = [read_setting(one) for one in [*paper, *(setting or ([] if preset else ["single", "multi"]))]]
        assistants = [_assistant(one, max_cost, at_once, max_tokens) for one in model]
        _refuse_doubles("--model", [one.name for one in assistants])
        _refuse_doubles("--setting", [one.name for one in settings])
        names, made = [one.name for one in assistants], Errors(out, errors, reviewed, judge, max_cost)
        noise, noisy = _noise(question_set, names, settings, baseline, made)
        finder, retrieval = _finder(settings, question_set, corpus, embedder, reranker, max_cost)
        dialogues = Dialogues(
            question_set,
            place,
            assistants,
            settings,
            _systems(system or [], assistants),
            _fingerprint(references),
            {**_borrowed_histories(settings, question_set), **noisy},
            retrieval=retrieval,
            noise=noise,
            corpus=corpus is not None,
            cut=cut or ("count" if preset else "drop"),
            counter=token_counter(tokens if any(one.budget for one in settings) else WORDS),
        )
        for left, ids in dialogues.manifest().left_out.items():
            typer.echo(f"{left}: not held with {len(ids):,} items, {', '.join(ids[:5])}", err=True)
        typer.echo(_estimate(dialogues, max_tokens), err=True)

        async def hold(done: Callable[[int], None], stop: Event) -> DialogueCounts:
            try:
                return await ask(dialogues, out, at_once=at_once, told=done, stop=stop, finder=finder)
            finally:
                if finder is not None:
                    await finder.aclose()
                for one in dialogues.assistants:
                    await one.aclose()

        held, signals = run_stoppable("dialogues", len(dialogues.jobs()), hold)
        typer.echo(_summary(held, out))
    fault = f": {held.work.fault.removeprefix('no answer: ')}" if held.work.fault else ""
    why = held.work.stopped or f"{held.dialogues - held.whole:,} dialogues have no last answer{fault}"
    exit_unfinished(signals, None if held.complete else why)


def _questions(name: str, data: Path | None, limit: int | None) -> tuple[QuestionSet, Path]:
    from vista_lab.dialogues.questions import find_questions, read_questions

    place = find_questions(name, data)
    read = read_questions(place)
    for note in (*read.skipped, *read.told):
        typer.echo(note, err=True)
    return replace(read, items=read.items[:limit]), place


def _baseline(folder: Path | None) -> tuple[str | None, Sequence[str]]:
    from vista_lab.dialogues.records import read_dialogue_manifest

    return (None, ()) if folder is None else (str(folder), read_dialogue_manifest(folder).models)


def _borrowed_histories(
    settings: Sequence[DialogueSetting], questions: QuestionSet
) -> dict[tuple[str, str], Mapping[str, Past]]:
    from vista_lab.dialogues.histories import history_of, read_history, read_transcripts

    histories: dict[tuple[str, str], Mapping[str, Past]] = {}
    for setting in settings:
        if setting.swap:
            histories[setting.swap, ""] = read_history(*_run_and_model(setting.swap))
        elif setting.static:
            histories[setting.static, ""] = history_of(read_transcripts(Path(setting.static)), questions.items)
    return histories


class Errors(NamedTuple):
    """Options for wrong answers as noise, and for confirming them."""

    out: Path
    given: Path | None
    reviewed: Path | None
    judge: str
    max_cost: float | None


def _noise(
    questions: QuestionSet,
    models: Sequence[str],
    settings: Sequence[DialogueSetting],
    baseline: Path | None,
    errors: Errors,
) -> tuple[str, dict[tuple[str, str], Mapping[str, Past]]]:
    """The fingerprint of the noise and the turns before the last, by kind and model; empty if no setting has noise."""
    from vista_lab.dialogues.histories import read_history
    from vista_lab.dialogues.noise import fingerprint, mastered_items, noisy_histories, own_turns

    kinds = {setting.noise for setting in settings if setting.noise}
    if not kinds:
        return "", {}
    if baseline is None:
        raise ConfigError("noise needs --baseline RUN: a judged run of the same set and models, in single and multi")
    known = {cohort.model: mastered_items(cohort) for cohort in _single_cohorts(baseline, questions)}
    if lacking := [model for model in models if model not in known]:
        raise ConfigError(
            f"{baseline} has not judged {lacking[0]} in the setting single; it has {', '.join(known) or 'none'}"
        )
    histories = {model: read_history(baseline, model) for model in models}
    turns = [own_turns(model, questions.items, known[model], histories[model]) for model in models]
    wrong = _wrong_answers(turns, errors)
    noisy: dict[tuple[str, str], Mapping[str, Past]] = {}
    for own in turns:
        noise = noisy_histories(own, wrong)
        noisy |= {(f"noise={kind}", own.model): by_item for kind, by_item in noise.items() if kind in kinds}
        of_model = [answer for answer in wrong if answer.model == own.model]
        typer.echo(
            f"{own.model}: {len(known[own.model]):,} items are known, {len(own.telling):,} of them tell a fact of the reference "
            f"before the last question and are left out; {sum(answer.confirmed for answer in of_model):,} of {len(of_model):,} "
            f"errors are confirmed; {max(map(len, noise.values())):,} items have noise",
            err=True,
        )
    return fingerprint(wrong, histories), noisy


def _single_cohorts(folder: Path, questions: QuestionSet) -> list[Cohort]:
    from vista_lab.dialogues.records import read_dialogue_manifest
    from vista_lab.dialogues.scored import read_cohorts
    from vista_lab.dialogues.tokens import token_counter

    if read_dialogue_manifest(folder).questions_sha256 != questions.sha256:
        raise ConfigError(f"--baseline {folder} asked another set; give a run of this one")
    every = read_cohorts(folder, questions, token_counter("words"))
    cohorts = [cohort for cohort in every if cohort.setting == "single"]
    if len(judges := {(cohort.decomposer, cohort.judge) for cohort in cohorts}) > 1:
        raise ConfigError(
            f"--baseline {folder} was judged in {len(judges)} ways; give a run with one decomposer and judge"
        )
    return cohorts


def _wrong_answers(turns: Sequence[OwnTurns], errors: Errors) -> list[WrongAnswer]:
    """The run's wrong answers; generates, confirms and stores them if it has none yet."""
    import asyncio

    from vista_guard.stores.line_file import write_whole
    from vista_lab.dialogues.commands.judge import pair_judge
    from vista_lab.dialogues.noise import read_noise, read_wrong, wrong_answers
    from vista_lab.dialogues.records import NOISE

    place = errors.out / NOISE
    supplied = None if errors.given is None else read_wrong(errors.given)
    if place.exists():
        stored = read_noise(place.read_text(encoding="utf-8"), place)
        if supplied is not None and any(
            supplied.get((answer.model, answer.item), supplied.get(("", answer.item))) != answer.answer
            for answer in stored
        ):
            raise ConfigError(f"{place} has other wrong answers than --errors {errors.given}; choose another --out")
        # New reviews change the fingerprint, so the manifest refuses to resume.
        return _with_reviews(stored, errors.reviewed)
    judge = pair_judge(errors.judge, None, errors.max_cost, 8)

    async def make() -> list[WrongAnswer]:
        try:
            return [answer for own in turns for answer in await wrong_answers(own, judge, supplied)]
        finally:
            await judge.aclose()

    confirmed = _with_reviews(asyncio.run(make()), errors.reviewed)
    errors.out.mkdir(parents=True, exist_ok=True)
    write_whole(place, "".join(answer.model_dump_json() + "\n" for answer in confirmed))
    return confirmed


def _with_reviews(errors: list[WrongAnswer], consensus: Path | None) -> list[WrongAnswer]:
    from vista_lab.dialogues.noise import apply_reviews
    from vista_lab.dialogues.validating import read_consensus

    if consensus is None:
        return errors
    rows = [{"id": error.id, "premise": error.premise, "claim": error.claim} for error in errors]
    return apply_reviews(errors, {one.id: one.majority == "contradiction" for one in read_consensus(consensus, rows)})


def _finder(
    settings: Sequence[DialogueSetting],
    questions: QuestionSet,
    corpus: str | None,
    embedder: str | None,
    reranker: str,
    max_cost: float | None,
) -> tuple[PassageFinder | None, str]:
    from vista_guard.settings.sources import Settings
    from vista_guard.stores.embedders import build_embedder
    from vista_lab.dialogues.reranking import build_reranker
    from vista_lab.dialogues.retrieving import PassageFinder

    if not any(setting.rag for setting in settings):
        if corpus or embedder or reranker != "shipped":
            raise ConfigError("--corpus, --embedder and --reranker are of settings with rag, and no --setting has it")
        return None, ""
    loaded = Settings.load(**({} if embedder is None else {"embedder": embedder}))
    found = build_embedder(loaded.embedder, loaded.embedder_options)
    ranker = build_reranker(reranker, lambda name: chat_model_of(name, max_cost, 8, option="--reranker"))
    description = f"embedder {loaded.embedder or 'shipped'}, reranker {ranker.name}, corpus {corpus or 'of each item'}"
    return PassageFinder(found, ranker, _store(corpus, questions, found)), description


def _store(corpus: str | None, questions: QuestionSet, embedder: Embedder) -> DocumentStore | None:
    import asyncio

    from vista_guard.stores.memory import MemoryDocuments
    from vista_lab.dialogues.retrieving import documents_of

    if corpus is None:
        return None
    if corpus == "set":
        store = MemoryDocuments(embedder)
        asyncio.run(store.add([document for item in questions.items for document in documents_of(item)]))
        return store
    place = Path(corpus) / "chroma"
    if not place.is_dir():
        raise InputError(f"{corpus} holds no documents; add some with vista-guard documents add --data-dir {corpus}")
    from vista_guard.stores.chroma.client import chroma_client
    from vista_guard.stores.chroma.documents import ChromaDocuments

    return ChromaDocuments(chroma_client(place), embedder)


STATEMENTS = 11.3
"""Of an answer, in the mean: 1,687 pairs of 100 answers with 5.6 facts each (KnowMT-Bench, App. D.3.1)."""


def _estimate(dialogues: Dialogues, max_tokens: int) -> str:
    jobs, costs = dialogues.jobs(), list[float | None]()
    for job in jobs:
        prices = getattr(job.assistant, "prices", None)
        costs += [prices.cost(_most_read(job, max_tokens), job.calls * max_tokens, 0)] if prices is not None else []
    known = [one for one in costs if one is not None]
    cost = f", at most ${sum(known):,.2f}" if known else ", at a price that is not known" if costs else ""
    if known and any(job.setting.guard not in (None, "monitor") for job in jobs):
        cost += " but for drafts that guards ask for again"
    pairs = sum(len(job.item.facts) + STATEMENTS for job in jobs)
    return (
        f"{len(dialogues.questions.items):,} items, {dialogues.calls:,} answers to ask for in all{cost}; then about "
        f"{2 * pairs:,.0f} questions to a judge that is a model, or {pairs:,.0f} pairs to a verifier"
    )


def _most_read(job: DialogueJob, max_tokens: int) -> int:
    """Most tokens of a dialogue's prompts: each has all questions, all passages and all answers before it."""
    from vista_guard.judges.model.chat.calling import CHARACTERS_A_TOKEN
    from vista_lab.dialogues.retrieving import KEPT, MAX_CHARS

    calls, questions = job.calls, job.item.questions
    chars = len("".join(questions)) + (len(questions) * KEPT * MAX_CHARS if job.setting.rag else 0)
    answers = calls * (calls - 1) // 2 + (calls * (len(questions) - 1) if job.setting.others else 0)
    return answers * max_tokens + calls * chars // CHARACTERS_A_TOKEN


def _fingerprint(references: str | None) -> str:
    import hashlib

    from vista_lab.dialogues.settings import ORACLE

    if references in (None, ORACLE):
        return references or ""
    return hashlib.sha256(Path(references).read_bytes()).hexdigest()


def _run_and_model(swap: str) -> tuple[Path, str | None]:
    """The folder and the model of `RUN` or `RUN:MODEL`; a model's name may have colons itself."""
    if Path(swap).is_dir():
        return Path(swap), None
    run, _, model = swap.partition(":")
    return Path(run), model or None


def _assistant(name: str, max_cost: float | None, at_once: int, max_tokens: int) -> Assistant:
    from vista_lab.dialogues.asking import ChatAssistant, FunctionAssistant

    if name.startswith("agent:"):
        return FunctionAssistant(name)
    if name.startswith("answers:"):
        from vista_lab.dialogues.histories import TranscriptAssistant

        return TranscriptAssistant(name)
    others = ", agent:MODULE:NAME for a function of yours, or answers:LOG for transcripts"
    return ChatAssistant(chat_model_of(name, max_cost, at_once, max_tokens, others=others))


def _systems(options: Sequence[str], assistants: Sequence[Assistant]) -> dict[str, str]:
    from vista_guard.cli.inputs import read_text

    prompts: dict[str, str] = {}
    names = [one.name for one in assistants]
    for one in options:
        model, equals, path = one.rpartition("=")
        if equals and model not in names:
            raise ConfigError(f"--system {one!r} names no --model; there are {', '.join(names)}")
        text = read_text(Path(path))
        prompts |= dict.fromkeys([model] if equals else names, text)
    return prompts


def _refuse_doubles(option: str, names: Sequence[str]) -> None:
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ConfigError(f"{option} {twice} is given twice")


def _summary(held: DialogueCounts, out: Path) -> str:
    from vista_lab.dialogues.asking import UNREACHED

    lines = [
        f"{held.whole:,} of {held.dialogues:,} dialogues have their last answer: {held.answered:,} answers, in {out}"
    ]
    for reason, count in sorted(held.reasons.items()):
        lines.append(f"  {count:>6,}  " + (UNREACHED if reason == UNREACHED else f"{UNREACHED}: {reason}"))
    return "\n".join(lines)
