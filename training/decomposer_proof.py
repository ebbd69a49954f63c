"""Proves the training of decomposers on two cores: `python -m training.decomposer_proof --out FOLDER` (extra rl).

A random Llama of two layers learns the four steps from exemplars of `steps:embedded` about people of a small world, and then from
the real rewards: format, the shipped verifier, and a checklist that a scripted server answers by the world's grammar. Held-out
sentences are of other people. Everything is done by the commands' own functions; the figures are in docs/design/decomposition.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from vista_guard import _aio
from vista_guard.judges.decomposers.named import build_decomposer
from vista_guard.judges.decomposers.sentences import SentenceTrace
from vista_guard.judges.decomposers.steps import StepsDecomposer
from vista_guard.judges.model import ModelOptions, OpenAIChat
from vista_guard.judges.verifiers import build_verifier
from vista_guard.testing import ReceivedRequest, ScriptedChatServer, WordEmbedder
from vista_guard.types import Turn
from vista_lab.decompose.judges import checklist_judge
from vista_lab.decompose.rewards import CHECK_WEIGHTS, GATE
from vista_lab.decompose.training.completions import Scoring, Term
from vista_lab.decompose.training.exemplars import EmbeddedTeacher, LabelledLog, StepsPrompt, Teaching, teach
from vista_lab.decompose.training.inputs import exemplar_parts, sentence_parts
from vista_lab.decompose.training.recipes import read_policy_recipe
from vista_lab.decompose.training.tiny import write_tiny_base
from vista_lab.decompose.training.train import AFTER, BEFORE, CollapseError, DecomposerJob, train
from vista_lab.runs.plan import of_log

RECIPE = str(Path(__file__).with_name("decomposer-tiny.toml"))
PROMPT = """---
answer: text
---
Split.
=== INPUT ===
$history
$question
$context
$sentence
"""
FIRST = ["Ada", "Runa", "Otto", "Mina", "Emil", "Ines", "Hugo", "Vera", "Olav", "Iris", "Karl", "Nora"]
LAST = ["Vale", "Holt", "Berg", "Lund", "Moss", "Dahl", "Roth", "Falk", "Strand", "Quist", "Ek", "Nord"]
PLACES = ["Oslo", "Rome", "Paris", "Leith", "Bergen", "Riga", "Turin", "Ghent", "Malmo", "Cork", "Lyon", "Porto"]
MONTHS = ["January", "March", "April", "June", "August", "October", "November", "December"]
YEARS = [str(year) for year in range(1901, 1921)]
JOBS = ["painter", "teacher", "chemist", "doctor", "sailor", "pilot", "farmer", "singer", "tailor", "baker"]
DEEDS = [
    "painted ships",
    "wrote letters",
    "built bridges",
    "sold maps",
    "collected stamps",
    "measured rain",
    "planted trees",
    "repaired clocks",
]
_TIME, _PLACE = rf"(?:{'|'.join(MONTHS)}) \d{{4}}", f"(?:{'|'.join(PLACES)})"
_WHAT = [rf"was born in (?:{_TIME}|{_PLACE})", f"was a (?:{'|'.join(JOBS)})", *DEEDS, f"died in {_PLACE}"]
ATOM = re.compile(rf"(?P<who>[A-Z]\w+ [A-Z]\w+) (?:{'|'.join(_WHAT)})\.")
"""One verifiable proposition of this world."""


def facts(draw: random.Random, who: str) -> list[str]:
    """Four sentences about a person."""
    born, died = draw.sample(PLACES, 2)
    job, other = draw.sample(JOBS, 2)
    return [
        f"{who} was born in {draw.choice(MONTHS)} {draw.choice(YEARS)} in {born}.",
        f"{who} was a {job} who {draw.choice(DEEDS)}.",
        f"{who} was a {job} and a {other}.",
        f"{who} died in {died}.",
    ]


def people(seed: int, first: int, end: int) -> Iterator[tuple[str, list[str], list[str]]]:
    """Persons of the world: name, what is true of each, and another person's facts told of them."""
    names = [f"{one} {two}" for one in FIRST for two in LAST]
    random.Random(7).shuffle(names)  # the same for all seeds: nobody is in two parts
    for number, who in enumerate(names[first:end]):
        draw = random.Random(f"{seed}:{number}")
        yield who, facts(draw, who), facts(draw, who)


def write_world(folder: Path, seed: int) -> None:
    """`log.jsonl` to make exemplars of, and `sentences.jsonl` with labels and evidence, of other people."""
    folder.mkdir(parents=True, exist_ok=True)
    log, rows = [], []
    for copy in range(4):
        for who, true, _ in people(seed + 100 * copy, 0, 90):
            draw = random.Random(f"{who}{copy}")
            told = draw.sample(true, 2)
            told[1] = told[1].replace(who, draw.choice(("He", "She"))) if draw.random() < 0.5 else told[1]
            asked = {"role": "user", "content": f"Who was {who}?"}
            log.append(
                {
                    "id": who.replace(" ", "-") + f"-{copy}",
                    "messages": [asked, {"role": "assistant", "content": " ".join(told)}],
                }
            )
    for number, (who, true, false) in enumerate(
        one for copy in range(16) for one in people(seed + 100 * copy, 90, 144)
    ):
        draw = random.Random(f"{number}:{seed}")
        for place in range(4):
            supported = draw.random() < 0.5
            said = true[place] if supported else false[place]
            other = true[(place + 1) % 4]
            shown = said.replace(who, draw.choice(("He", "She"))) if draw.random() < 0.5 else said
            rows.append(
                {
                    "id": f"{number}.{place}",
                    "sentence": shown,
                    "question": f"Who was {who}?",
                    "context": f"{other} {shown}",
                    "label": said in true,
                    "evidence": [" ".join(true)],
                    "conversation": who,
                }
            )
    for name, lines in (("log", log), ("sentences", rows)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (folder / "prompts").mkdir(exist_ok=True)
    (folder / "prompts" / "steps.txt").write_text(PROMPT, encoding="utf-8")


def checklist(request: ReceivedRequest) -> str:
    """The checklist's answers by the grammar of the world, which a model could not know."""
    shown = {name: _part(request.user, name) for name in ("question", "context", "sentence", "claims")}
    who = " ".join(re.findall(r"[A-Z]\w+", shown["question"])[1:])
    words = set(re.findall(r"\w+", " ".join(shown[name] for name in ("question", "context", "sentence"))))
    entries = []
    for number, claim in re.findall(r"^(\d+)\. (.*)$", shown["claims"], re.MULTILINE):
        atom = ATOM.fullmatch(claim)
        held = {
            GATE: atom is not None,
            "retrieval_relevant": atom is not None and atom["who"] == who,
            "qualifiers_sufficient": True,
            "references_explicit": atom is not None and atom["who"] == who,
            "no_ungrounded_additions": set(re.findall(r"\w+", claim)) <= words,
        }
        assert set(held) == {GATE, *CHECK_WEIGHTS}
        answers = {name: "Yes" if yes else "No" for name, yes in held.items()}
        entries.append({"id": int(number), "rationales": dict.fromkeys(held, "By the grammar."), "checks": answers})
    return json.dumps({"claims": entries})


def _part(text: str, name: str) -> str:
    found = re.search(rf"<{name}>\n(.*?)\n</{name}>", text, re.DOTALL)
    return found[1] if found else ""


@contextmanager
def rewards(terms: tuple[Term, ...], reward: Any = "dense") -> Iterator[Scoring]:
    """The real rewards: the shipped verifier, and the checklist's judge over HTTP. τ = 0.5, chosen beforehand."""
    with ScriptedChatServer(checklist) as server:
        judge = checklist_judge(OpenAIChat("oracle", base_url=server.base_url, options=ModelOptions(max_retries=0)))
        verifier = build_verifier("shipped").verifier
        yield Scoring(terms, verifier, judge if "checklist" in terms else None, 0.5, reward, stop_counts=True)
        _aio.run(judge.aclose())


def prepare(folder: Path, seed: int) -> StepsPrompt:
    """World, exemplars and random base of a seed. Returns the prompt."""
    write_world(folder, seed)
    prompt = StepsPrompt(ModelOptions(prompts_dir=folder / "prompts"))
    log = LabelledLog(of_log(folder / "log.jsonl", None), "log", "")
    asyncio.run(teach([log], folder / "exemplars", Teaching(EmbeddedTeacher(), prompt)))
    texts = [(folder / "exemplars" / f"{part}.jsonl").read_text("utf-8") for part in ("train", "validation")]
    said = [
        message["content"] for text in texts for line in text.splitlines() for message in json.loads(line)["messages"]
    ]
    rows = [json.loads(line) for line in (folder / "sentences.jsonl").read_text("utf-8").splitlines()]
    every = [*FIRST, *(f" {word}" for word in [*FIRST, *LAST, *PLACES, *MONTHS, *YEARS, *JOBS]), *DEEDS]
    every += [f" {deed}" for deed in DEEDS] + [row[name] for row in rows for name in ("question", "context")]
    write_tiny_base(folder / "tiny", [*said, *every], seed)
    return prompt


def run(folder: Path, out: str, stage: Any, base: str, prompt: StepsPrompt, **changed: Any) -> Mapping[str, float]:
    """One training into `folder/out`. Returns its figures before and after, and its seconds."""
    recipe = read_policy_recipe(RECIPE, stage, str(folder / base)).model_copy(update={"seed": changed.pop("seed")})
    recipe = recipe.model_copy(update=changed.pop("recipe", {}))
    began, cpu = time.monotonic(), time.process_time()
    if stage == "sft":
        made = train(
            DecomposerJob(recipe, exemplar_parts(folder / "exemplars", prompt), prompt, folder / out, "exemplars")
        )
    else:
        terms, reward = changed.pop("terms", ("format", "verifier", "checklist")), changed.pop("reward", "dense")
        with rewards(terms, reward) as how:
            parts = sentence_parts(folder / "sentences.jsonl", terms)
            made = train(DecomposerJob(recipe, parts, prompt, folder / out, "sentences", how, **changed))
    spent = {"seconds": time.monotonic() - began, "cpu": time.process_time() - cpu}
    return {**{f"before {name}": value for name, value in made.before.items()}, **made.after, **spent}


def interval(path: Path, seed: int = 13) -> tuple[float, float, float]:
    """Mean of R over the answers of a file, with its 95 % interval over sentences."""
    by_sentence: dict[str, list[float]] = {}
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        by_sentence.setdefault(str(row["group"]), []).append(row["total"])
    means = np.array([fmean(own) for own in by_sentence.values()])
    draws = np.random.default_rng(seed).choice(means, (2000, len(means))).mean(axis=1)
    low, high = np.quantile(draws, (0.025, 0.975))
    return float(means.mean()), float(low), float(high)


def one_seed(folder: Path, seed: int, kinds: Sequence[str]) -> None:
    """SFT, GRPO with each kind of reward, and GRPO without SFT; `figures.json` grows with each."""
    prompt = prepare(folder, seed)
    found: dict[str, Any] = {"seed": seed, "sft": run(folder, "sft", "sft", "tiny", prompt, seed=seed)}
    _keep(folder, found)
    for reward in kinds:
        found[reward] = dict(run(folder, reward, "grpo", "sft", prompt, seed=seed, reward=reward))
        for name in (BEFORE, AFTER):
            found[reward][name] = interval(folder / reward / name)
        _keep(folder, found)
        if reward == "dense":
            found["served"] = served(folder, reward)
            found["without SFT"] = without_sft(folder, prompt, seed)
            _keep(folder, found)


def served(folder: Path, out: str, most: int = 20) -> dict[str, float]:
    """The trained model behind an endpoint, as the decomposer steps:openai:tiny, on held-out turns of the log."""
    from vista_lab.decompose.training.policy import Policy

    policy, recipe = Policy.load(str(folder / out)), read_policy_recipe(RECIPE, "grpo", "tiny")
    exemplars = exemplar_parts(folder / "exemplars", StepsPrompt(ModelOptions(prompts_dir=folder / "prompts")))
    known = {one.asked.sentence: one.claims for one in exemplars.held_out}
    names = {one.asked.conversation.partition("/")[2] for one in exemplars.held_out}

    def answer(request: ReceivedRequest) -> str:
        return policy.answer(
            [[{"role": role, "content": said} for role, said in request.messages]], recipe, greedy=True
        )[0]

    async def traces(url: str) -> list[SentenceTrace]:
        options = ModelOptions(prompts_dir=folder / "prompts", max_retries=0, timeout_s=600)
        decomposer = build_decomposer(f"steps:openai:tiny@{url}", WordEmbedder(), model=options)
        assert isinstance(decomposer, StepsDecomposer)
        found: list[SentenceTrace] = []
        for talk in map(json.loads, (folder / "log.jsonl").read_text("utf-8").splitlines()):
            if talk["id"] in names and len(found) < most:
                asked, said = (Turn(role=one["role"], text=one["content"]) for one in talk["messages"])
                found += await decomposer.trace(said, [asked])
        await decomposer.aclose()
        return found

    with ScriptedChatServer(answer) as server:
        found = asyncio.run(traces(server.base_url))
    return {
        "sentences": len(found),
        "read": fmean(one.status != "unchecked" for one in found),
        "as the teacher": fmean(one.claims == known.get(one.sentence) for one in found),
    }


def without_sft(folder: Path, prompt: StepsPrompt, seed: int) -> str:
    """The message of a run that starts from the random base."""
    try:
        run(folder, "bare", "grpo", "tiny", prompt, seed=seed, patience=3)
    except CollapseError as exc:
        return str(exc)
    return "nothing"


def _keep(folder: Path, found: Mapping[str, Any]) -> None:
    (folder / "figures.json").write_text(json.dumps(found, indent=2), encoding="utf-8")
    print(json.dumps(found), flush=True)


def main() -> None:
    """Runs the seeds, one after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for everything that is made")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--rewards", nargs="+", choices=("dense", "sparse"), default=["dense", "sparse"])
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    import torch

    torch.set_num_threads(given.threads)
    for seed in given.seeds:
        one_seed(given.out / f"seed{seed}", seed, given.rewards)


if __name__ == "__main__":
    main()
