"""Training the parts of LLM-OASIS: the losses, the paper's recipes on tiny random weights, the shipped models on a few rows.

Needs the extra `train`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.judges.verifiers import tiny
from tests.raising import raises
from vista_guard import ConfigError, InputError
from vista_guard.judges.verifiers.local import LocalVerifier
from vista_lab.oasis.training.train import Job, train
from vista_lab.training.recipes import read_recipe
from vista_lab.training.record import CARD, TRAINING, read_training
from vista_lab.training.rows import ExtractorRow, PassageWindow, RetrieverRow, Split, VerifierRow

WHY = "the extra `train` is not installed: no part of the pipeline can be trained"
torch = pytest.importorskip("torch", reason=WHY)
transformers = pytest.importorskip("transformers", reason=WHY)
sentence_transformers = pytest.importorskip("sentence_transformers", reason=WHY)
pytest.importorskip("accelerate", reason=WHY)

from vista_lab.oasis.training.retriever import in_batch_loss  # noqa: E402

# The libraries warn of one another; what they say is no matter of ours.
pytestmark = pytest.mark.filterwarnings("ignore")

SMALL = {
    "vocab_size": tiny.SIZE,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 130,
    "pad_token_id": 0,
}
T5 = {
    "vocab_size": tiny.SIZE,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 64,
    "num_layers": 1,
    "num_heads": 4,
    "decoder_start_token_id": 0,
    "pad_token_id": 0,
    "eos_token_id": tiny.VOCABULARY["</s>"],
}
QUICK = {"steps": 4, "evaluate_every": 2, "batch": 4, "max_tokens": 48, "least_per_label": 2}
COSTS = ("two", "three", "five")


def passage(number: int) -> tuple[PassageWindow, str]:
    return PassageWindow(
        f"d{number}.md", 0, 5
    ), f"The ferry {number} leaves every ten minutes. A ticket costs {COSTS[number % 3]} euros."


def extractor_rows(numbers: Sequence[int]) -> list[ExtractorRow]:
    made = []
    for number in numbers:
        source, text = passage(number)
        claims = (f"The ferry {number} leaves every ten minutes", f"A ticket costs {COSTS[number % 3]} euros.")
        made.append(ExtractorRow(source, text, claims))
    return made


def retriever_rows(numbers: Sequence[int]) -> list[RetrieverRow]:
    return [RetrieverRow(row.source, claim, row.text) for row in extractor_rows(numbers) for claim in row.claims]


def verifier_rows(numbers: Sequence[int]) -> list[VerifierRow]:
    made = []
    for row in extractor_rows(numbers):
        wrong = row.claims[1].replace(COSTS[int(row.source.document[1:-3]) % 3], "ten")
        made += [
            VerifierRow(row.source, row.claims[1], row.text, "supported", row.source.document),
            VerifierRow(row.source, wrong, row.text, "contradicted", row.source.document),
            VerifierRow(row.source, "Dogs travel free on Sundays.", row.text, "not_enough"),
        ]
    return made


ROWS: dict[str, Any] = {"extractor": extractor_rows, "retriever": retriever_rows, "verifier": verifier_rows}


def split(part: str) -> Any:
    return Split(ROWS[part](range(8)), ROWS[part](range(20, 24)))


def base(folder: Path, model: Any) -> str:
    """Random weights in the form in which real ones are published."""
    model.save_pretrained(folder)
    words = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tiny.tokenizer(), pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    words.save_pretrained(folder)
    return str(folder)


def random_base(part: str, folder: Path) -> str:
    torch.manual_seed(5)
    if part == "extractor":
        return base(folder, transformers.T5ForConditionalGeneration(transformers.T5Config(**T5)))
    if part == "retriever":
        return base(folder / "e5-tiny", transformers.BertModel(transformers.BertConfig(**SMALL)))
    kind = {"type_vocab_size": 0, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
    config = transformers.DebertaV2Config(**SMALL, **kind)
    return base(folder, transformers.DebertaV2Model(config))


def paper(part: str, folder: Path) -> Any:
    return read_recipe("paper", part, random_base(part, folder)).model_copy(update=QUICK)  # type: ignore[arg-type]


def test_the_loss_of_equation_6() -> None:
    loss = in_batch_loss(2.0 * torch.eye(4))
    assert round(float(loss), 3) == 1.363


def test_sentence_transformers_loss_is_equation_6_over_the_batch() -> None:
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from sentence_transformers.util import cos_sim

    torch.manual_seed(3)
    claims, passages = torch.randn(5, 8), torch.randn(5, 8)
    library = MultipleNegativesRankingLoss(None, scale=20.0, similarity_fct=cos_sim)
    found = library.compute_loss_from_embeddings([claims, passages], labels=None)
    assert float(found) == pytest.approx(float(in_batch_loss(20 * cos_sim(claims, passages))) / 5, rel=1e-5)


@pytest.mark.parametrize("part", ["extractor", "retriever", "verifier"])
def test_a_recipe_of_the_paper_runs_whole(part: str, tmp_path: Path) -> None:
    """From the base to a folder that the guard loads, with its card; what was trained differs from the base."""
    recipe, out = paper(part, tmp_path / "base"), tmp_path / "out"
    logged: list[str] = []
    made = train(Job(part, split(part), recipe, out, "ours"), logged.append)  # type: ignore[arg-type]
    assert read_training(out) == made
    assert made.finished
    assert made.after
    assert all(0 <= value <= 1 for value in made.after.values())
    assert made.data.sha256 in (out / CARD).read_text()
    assert any("step 4/4" in line for line in logged)
    assert not (out / "checkpoints").exists()
    before, after = (safetensors_of(folder) for folder in (Path(recipe.base), out))
    shared = [name for name in before if name in after]
    assert shared
    assert any(not np.array_equal(before[name], after[name]) for name in shared)


def safetensors_of(folder: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file

    found = load_file(folder / "model.safetensors")
    return {name.removeprefix("deberta."): value for name, value in found.items()}


def test_an_e5_learns_with_its_prefixes_and_its_folder_says_so(tmp_path: Path) -> None:
    recipe, out = paper("retriever", tmp_path), tmp_path / "out"
    train(Job("retriever", split("retriever"), recipe, out, "ours"))
    told = json.loads((out / "config_sentence_transformers.json").read_text())
    assert told["prompts"] == {"query": "query: ", "document": "passage: "}


def test_a_killed_run_goes_on_from_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vista_lab.training import trainers

    recipe, out = paper("verifier", tmp_path / "base"), tmp_path / "out"
    job = Job("verifier", split("verifier"), recipe, out, "ours")
    with monkeypatch.context() as patch:

        def stop(line: str) -> None:
            if "step 4/4" in line:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            train(job, stop)
        patch.undo()
    assert not read_training(out).finished
    begun = trainers.last_checkpoint(out)
    assert begun is not None
    assert begun.endswith("checkpoint-2")
    logged: list[str] = []
    assert train(job, logged.append).finished
    assert not any(line.startswith("step 2/4") for line in logged)
    with raises(ConfigError, "finished"):
        train(job)


def test_a_folder_begun_otherwise_is_not_gone_on_with(tmp_path: Path) -> None:
    recipe, out = paper("verifier", tmp_path / "base"), tmp_path / "out"
    job = Job("verifier", split("verifier"), recipe, out, "ours")
    out.mkdir()
    (out / TRAINING).write_text(job.training().model_dump_json())
    other = recipe.model_copy(update={"learning_rate": 3e-5})
    with raises(ConfigError, "learning_rate", "1e-05", "3e-05"):
        train(Job("verifier", split("verifier"), other, out, "ours"))
    fewer = Split(verifier_rows(range(7)), verifier_rows(range(20, 24)))
    with pytest.raises(ConfigError):
        train(Job("verifier", fewer, recipe, out, "ours"))


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    recipe = paper("verifier", tmp_path / "base")
    with pytest.raises(ConfigError):
        train(Job("verifier", split("verifier"), recipe, out, "ours"))
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("part", "wrong"), [("extractor", "verifier"), ("verifier", "extractor"), ("retriever", "extractor")]
)
def test_a_base_of_another_kind_is_refused(part: str, wrong: str, tmp_path: Path) -> None:
    recipe = read_recipe("paper", part, random_base(wrong, tmp_path / "base")).model_copy(update=QUICK)  # type: ignore[arg-type]
    with raises(ConfigError, part):
        train(Job(part, split(part), recipe, tmp_path / "out", "ours"))  # type: ignore[arg-type]


@pytest.mark.parametrize("given", ["shipped", "nowhere"])
def test_a_base_that_is_no_model_is_refused(given: str, tmp_path: Path) -> None:
    recipe = read_recipe("paper", "verifier", given).model_copy(update=QUICK)
    with raises(ConfigError, given):
        train(Job("verifier", split("verifier"), recipe, tmp_path / "out", "ours"))


def test_too_few_rows_of_a_label_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    few = Split([row for row in verifier_rows(range(60)) if row.label != "not_enough"], verifier_rows(range(80, 84)))
    with raises(InputError, "0", "not_enough"):
        train(Job("verifier", few, read_recipe("small", "verifier"), tmp_path / "out", "ours"))
    assert not (tmp_path / "out").exists()


def test_a_retriever_needs_more_than_one_passage(tmp_path: Path) -> None:
    one = Split(retriever_rows([1]), retriever_rows([2]))
    with raises(InputError, "passage"):
        train(Job("retriever", one, read_recipe("small", "retriever"), tmp_path / "out", "ours"))


def test_the_shipped_verifier_learns_and_the_guard_loads_it(tmp_path: Path) -> None:
    replay = tmp_path / "old.jsonl"
    replay.write_text('{"premise": "The hall is blue.", "hypothesis": "The hall is green.", "allowed": [1]}\n' * 3)
    recipe = read_recipe("small", "verifier").model_copy(update={"least_per_label": 2, "epochs": 1})
    out = tmp_path / "out"
    made = train(Job("verifier", split("verifier"), recipe, out, "ours", replay))
    assert (
        set(made.before)
        == set(made.after)
        == {"balanced accuracy, three labels", "balanced accuracy, supported or not"}
    )
    assert made.data.labels == {"supported": 8, "contradicted": 8, "not_enough": 8}
    assert len(made.data.replay) == 64
    rows = LocalVerifier.load(str(out)).probabilities([("The hall opened in 1925.", "The hall opened in 1930.")])
    assert rows.argmax(1).tolist() == [1]
    assert rows.sum() == pytest.approx(1.0)


def test_the_shipped_embedder_learns_and_the_guard_loads_it(tmp_path: Path) -> None:
    recipe = read_recipe("small", "retriever").model_copy(update={"epochs": 1, "batch": 4})
    made = train(Job("retriever", split("retriever"), recipe, tmp_path / "out", "ours"))
    assert list(made.after) == ["R@1", "R@5", "R@10", "R@30", "R@100"]
    assert made.after["R@100"] == 1.0
    assert made.before["R@1"] <= 1.0


def test_the_shipped_weights_come_back_as_they_are() -> None:
    from vista_guard.stores.entries import OnnxEmbedder
    from vista_lab.training.shipped import shipped_embedder, shipped_tokenizer

    texts = ["The ferry leaves at nine.", "Dogs travel free on Sundays."]
    model = shipped_embedder().eval()
    with torch.inference_mode():
        ids = [torch.tensor([one.ids]) for one in shipped_tokenizer(128).encode_batch(texts)]
        own = np.concatenate([model(one, torch.ones_like(one), torch.zeros_like(one)).numpy() for one in ids])
    assert (own * OnnxEmbedder().embed(texts)).sum(1).min() > 0.98


@pytest.mark.parametrize(
    "line", ["{", "[1]", '{"premise": "A."}', '{"premise": "A.", "hypothesis": "B.", "allowed": [3]}']
)
def test_a_replayed_line_that_is_no_pair_is_told(line: str, tmp_path: Path) -> None:
    from vista_lab.oasis.training.nli import replayed

    file = tmp_path / "old.jsonl"
    file.write_text('{"premise": "A.", "hypothesis": "B.", "allowed": [0]}\n' + line + "\n")
    with raises(InputError, "2"):
        replayed(file, 5, 1)


def test_the_mean_of_a_run_shorter_than_its_step_is_not_where_it_began(tmp_path: Path) -> None:
    """Two steps: the mean of the weights is what is written, and it is taken every twenty steps."""
    from vista_lab.oasis.training.retriever import RetrieverLearner
    from vista_lab.training.shipped import shipped_embedder, shipped_tokenizer
    from vista_lab.training.train import Schedule, fit

    model = shipped_embedder()
    before = model.encoder.layers[0].up.weight.detach().clone()
    learner = RetrieverLearner(model, retriever_rows(range(8)), shipped_tokenizer(64), batch=8, scale=20.0)
    run = fit(learner, Schedule(lr=1e-3), tmp_path, log=lambda line: None)
    assert 0 < run.at.step < 20
    mean = run.mean["encoder.layers.0.up.weight"]
    assert not torch.allclose(mean, before)
    assert (mean - model.encoder.layers[0].up.weight).abs().max() < (mean - before).abs().max()
