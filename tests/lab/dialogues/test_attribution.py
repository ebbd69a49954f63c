"""Attribution of a dialogue's last answer: a tiny random model against direct autograd."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.lab.dialogues.runs import BySentence, Literal, Scripted
from vista_guard.cli import app
from vista_guard.errors import ConfigError, InputError
from vista_guard.judges.model import Message
from vista_lab.dialogues.asking import Dialogues, ask
from vista_lab.dialogues.attribution import (
    DialogueParts,
    Importance,
    attribute,
    dialogue_tokens,
    heat_map,
    load_local,
    useful_spans,
)
from vista_lab.dialogues.judging import judge_dialogues
from vista_lab.dialogues.questions import QuestionItem, read_questions
from vista_lab.dialogues.settings import read_setting

WHY = "attribution needs the extra `torch`"
PARTS = DialogueParts((0, 5), (5, 8), (8, 12))
IDS = [3, 17, 4, 29, 8, 11, 2, 19, 7, 23, 5, 13]


def _model(attention: str = "eager") -> Any:
    torch = pytest.importorskip("torch", reason=WHY)
    transformers = pytest.importorskip("transformers", reason=WHY)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, initializer_range=0.5, attn_implementation=attention,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


def _directly(model: Any, rows: list[int], sign: float = 1.0) -> list[float]:
    import torch

    tokens = torch.tensor([IDS])
    out = model(input_ids=tokens, output_attentions=True)
    for weights in out.attentions:
        weights.retain_grad()
    sum(torch.log_softmax(out.logits[0, t - 1], -1)[IDS[t]] for t in range(8, 12)).backward()
    return [
        sign
        * sum(
            float(w[0, h, t, j].detach() * w.grad[0, h, t, j].sign())
            for w in out.attentions
            for h in range(2)
            for t in rows
        )
        / (4 * len(rows))
        for j in range(12)
    ]


@pytest.mark.parametrize(("useful", "rows"), [(None, [8, 9, 10, 11]), ([(9, 11)], [9, 10])])
def test_equals_direct_autograd_and_no_mutant_sign(useful: Any, rows: list[int]) -> None:
    model = _model()
    found = attribute(model, IDS, PARTS, useful=useful)
    expected = _directly(model, rows)
    assert found.tokens == pytest.approx(expected, abs=1e-6)
    assert found.tokens != pytest.approx(_directly(model, rows, sign=-1.0), abs=1e-3)
    assert found.context == pytest.approx(sum(expected[:5]) / 5, abs=1e-6)


def _saved(folder: Path) -> Path:
    """A tiny model and its tokenizer, with a chat template, in a folder."""
    tokenizers = pytest.importorskip("tokenizers", reason=WHY)
    transformers = pytest.importorskip("transformers", reason=WHY)
    words = ["[UNK]", "Hello", "?", "Name", "them", ".", "One", "Two", "user", "assistant", ":"]
    raw = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]")
    )
    raw.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokens = transformers.PreTrainedTokenizerFast(tokenizer_object=raw, unk_token="[UNK]")
    tokens.chat_template = (
        "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + '\\n' }}{% endfor %}"
        "{% if add_generation_prompt %}assistant: {% endif %}"
    )
    _model().save_pretrained(folder)
    tokens.save_pretrained(folder)
    return folder


def test_a_dialogue_is_read_with_its_parts_and_right_sentences(tmp_path: Path) -> None:
    model, tokenizer = load_local(str(_saved(tmp_path)))
    messages = [Message("user", "Hello?"), Message("assistant", "Hello."), Message("user", "Name them.")]
    ids, parts, places, texts = dialogue_tokens(tokenizer, messages, "One. Two.")
    assert "".join(texts) == "user: Hello?\nassistant: Hello.\nuser: Name them.\nassistant: One. Two."
    assert ["".join(texts[slice(*span)]) for span in (parts.context, parts.question, parts.answer)] == [
        "user: Hello?\nassistant: Hello.\n", "user: Name them.\nassistant: ", "One. Two.",
    ]  # fmt: skip
    useful = useful_spans("One. Two.", ["Two."], places)
    assert "".join(texts[start] for start, _ in useful) == "Two."
    found = attribute(model, ids, parts, useful=useful)
    assert found.context is not None
    assert heat_map(texts, found).count("<span") == len(ids)


def test_the_command_draws_a_map_of_each_dialogue(tmp_path: Path) -> None:
    folder = _saved(tmp_path / "model")
    items = [QuestionItem("i", ("Hello?", "Name them."), "Name them.", "One. Two.", ("One.", "Two."))]
    path = tmp_path / "set.jsonl"
    row = {"id": "i", "questions": ["Hello?", "Name them."], "answer": "One. Two.", "facts": ["One.", "Two."]}
    path.write_text(json.dumps(row) + "\n", "utf-8")
    said = {"Hello?": "Hello.", "Name them.": "One. Nine."}
    run = Dialogues(read_questions(path), path, [Scripted(lambda m: said[m[-1].content])], [read_setting("multi")])
    asyncio.run(ask(run, tmp_path / "run"))
    asyncio.run(judge_dialogues(tmp_path / "run", items, BySentence(), Literal()))
    page = tmp_path / "page.html"
    command = ["knowmt", "attribute", str(tmp_path / "run"), "--model", str(folder), "--out", str(page)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "1 dialogues; mean importance of a token: context " in result.output
    assert "Nine" in page.read_text("utf-8")
    assert CliRunner().invoke(app, [*command, "--max-gib", "0.1"]).exit_code == 0
    assert CliRunner().invoke(app, [*command, "--setting", "multi+concat"]).exit_code == 2


def test_refuses_what_is_too_long_and_a_model_without_attention() -> None:
    with pytest.raises(InputError, match="12 tokens"):
        attribute(_model(), IDS, PARTS, max_gib=1e-9)
    with pytest.raises(ConfigError, match="eager"):
        attribute(_model("sdpa"), IDS, PARTS)


@pytest.mark.parametrize("useful", [[], [(7, 9)], [(9, 9)], [(11, 13)]])
def test_refuses_spans_outside_the_answer(useful: Any) -> None:
    with pytest.raises(InputError):
        attribute(None, IDS, PARTS, useful=useful)


def test_refuses_parts_with_gaps() -> None:
    with pytest.raises(InputError):
        DialogueParts((0, 4), (5, 8), (8, 12))


def test_heat_map_escapes_and_tells_the_sign() -> None:
    page = heat_map(["<b>", "x"], Importance((0.5, -0.25), 0.5, None, -0.25))
    assert "&lt;b&gt;" in page
    assert "+0.50000" in page
    assert "214,39,40,0.50" in page
    with pytest.raises(InputError):
        heat_map(["x"], Importance((), None, None, None))
