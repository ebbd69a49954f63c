"""Attribution of a dialogue's last answer: a tiny random model against direct autograd."""

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
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
    render,
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


def _directly(
    model: Any, rows: list[int], sign: float = 1.0, ids: Sequence[int] = IDS, answer: tuple[int, int] = (8, 12)
) -> list[float]:
    import torch

    tokens, heads = torch.tensor([list(ids)]), model.config.num_attention_heads
    out = model(input_ids=tokens, output_attentions=True)
    for weights in out.attentions:
        weights.retain_grad()
    sum(torch.log_softmax(out.logits[0, t - 1], -1)[ids[t]] for t in range(*answer)).backward()
    return [
        sign
        * sum(
            float(w[0, h, t, j].detach() * w.grad[0, h, t, j].sign())
            for w in out.attentions
            for h in range(heads)
            for t in rows
        )
        / (len(out.attentions) * heads * len(rows))
        for j in range(len(ids))
    ]


@pytest.mark.parametrize(("useful", "rows"), [(None, [8, 9, 10, 11]), ([(9, 11)], [9, 10])])
def test_equals_direct_autograd_and_no_mutant_sign(useful: Any, rows: list[int]) -> None:
    model = _model()
    found = attribute(model, IDS, PARTS, useful=useful)
    expected = _directly(model, rows)
    assert found.tokens == pytest.approx(expected, abs=1e-6)
    assert found.tokens != pytest.approx(_directly(model, rows, sign=-1.0), abs=1e-3)
    assert found.context == pytest.approx(sum(expected[:5]) / 5, abs=1e-6)


OPENS, CLOSES = "<|im_start|>", "<|im_end|>\n"
TEMPLATES = {
    # A default system prompt, turns in marks.
    "qwen2.5": (
        "{% if messages[0].role != 'system' %}{{ '<|im_start|>system\nYou help.<|im_end|>\n' }}{% endif %}"
        "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    ),
    # Empty thoughts before an answer behind the last question, and before no other.
    "qwen3": (
        "{% set seen = namespace(last=0) %}"
        "{% for m in messages %}{% if m.role == 'user' %}{% set seen.last = loop.index0 %}{% endif %}{% endfor %}"
        "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}"
        "{% if m.role == 'assistant' and loop.index0 > seen.last %}{{ '<think>\n\n</think>\n\n' }}{% endif %}"
        "{{ m.content.split('</think>')[-1].lstrip('\n') + '<|im_end|>\n' }}{% endfor %}"
    ),
    # A beginning, headers, trimmed texts.
    "llama": (
        "{{ '<|begin_of_text|>' }}{% for m in messages %}{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\n\n' }}"
        "{{ m.content | trim + '<|eot_id|>' }}{% endfor %}"
    ),
    # No system prompt, and the assistant by another name.
    "gemma": (
        "{{ '<bos>' }}{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
        "{% for m in messages %}{{ '<start_of_turn>' + ('model' if m.role == 'assistant' else m.role) + '\n' }}"
        "{{ m.content | trim + '<end_of_turn>\n' }}{% endfor %}"
    ),
    # The system prompt stands in the last question, and speakers take turns.
    "mistral": (
        "{% set ns = namespace(turns=[], system='') %}{% for m in messages %}{% if m.role == 'system' %}"
        "{% set ns.system = m.content + '\n\n' %}{% else %}{% set ns.turns = ns.turns + [m] %}{% endif %}{% endfor %}"
        "{{ '<s>' }}{% for m in ns.turns %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('Roles must alternate') }}{% endif %}{% if m.role == 'user' %}"
        "{{ '[INST] ' + (ns.system if loop.revindex <= 2 else '') + m.content + '[/INST]' }}"
        "{% else %}{{ ' ' + m.content + '</s>' }}{% endif %}{% endfor %}"
    ),
}
"""Chat templates, rebuilt in little: each does what a family's template does to turns."""
TALK = (Message("user", "Hello?"), Message("assistant", "Hello."), Message("user", "Name them."))
WRITTEN = {
    "qwen2.5": (
        f"{OPENS}system\nYou help.{CLOSES}{OPENS}user\nHello?{CLOSES}{OPENS}assistant\nHello.{CLOSES}",
        f"{OPENS}user\nName them.{CLOSES}{OPENS}assistant\n",
    ),
    "qwen3": (
        f"{OPENS}user\nHello?{CLOSES}{OPENS}assistant\nHello.{CLOSES}",
        f"{OPENS}user\nName them.{CLOSES}{OPENS}assistant\n<think>\n\n</think>\n\n",
    ),
    "llama": (
        "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHello?<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\nHello.<|eot_id|>",
        "<|start_header_id|>user<|end_header_id|>\n\nName them.<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
    "gemma": (
        "<bos><start_of_turn>user\nHello?<end_of_turn>\n<start_of_turn>model\nHello.<end_of_turn>\n",
        "<start_of_turn>user\nName them.<end_of_turn>\n<start_of_turn>model\n",
    ),
    "mistral": ("<s>[INST] Hello?[/INST] Hello.</s>", "[INST] Name them.[/INST] "),
}
"""Context and question of `TALK`, as each template writes them."""


class Templated:
    """A tokenizer of words and signs with a chat template, as transformers' tokenizers behave."""

    pieces = r"\w+|[^\w\s]|\s"

    def __init__(self, template: str) -> None:
        environment = jinja2.Environment(autoescape=False)
        environment.globals["raise_exception"] = self._refuse
        self.chat_template, self._template = template, environment.from_string(template)

    def _refuse(self, why: str) -> None:
        raise jinja2.TemplateError(why)

    def apply_chat_template(self, chat: list[dict[str, str]], tokenize: bool, add_generation_prompt: bool) -> str:
        assert not tokenize
        assert not add_generation_prompt
        return self._template.render(messages=chat)

    def __call__(self, text: str, return_offsets_mapping: bool, add_special_tokens: bool) -> dict[str, list[Any]]:
        assert return_offsets_mapping
        assert not add_special_tokens
        pieces = list(re.finditer(self.pieces, text))
        return {
            "input_ids": [sum(map(ord, piece[0])) % 32 for piece in pieces],
            "offset_mapping": [piece.span() for piece in pieces],
        }


@pytest.mark.parametrize("name", TEMPLATES)
def test_context_and_question_are_found_in_any_template(name: str) -> None:
    ids, parts, places, texts = dialogue_tokens(Templated(TEMPLATES[name]), TALK, "One. Two.")
    context, question = WRITTEN[name]
    assert "".join(texts) == f"{context}{question}One. Two."
    assert ["".join(texts[slice(*span)]) for span in (parts.context, parts.question, parts.answer)] == [
        context, question, "One. Two."
    ]  # fmt: skip
    assert len(ids) == len(places) == len(texts)
    assert "".join(texts[start] for start, _ in useful_spans("One. Two.", ["Two."], places)).strip() == "Two."


@pytest.mark.parametrize("name", TEMPLATES)
def test_in_any_template_it_equals_direct_autograd(name: str) -> None:
    model = _model()
    ids, parts, places, _ = dialogue_tokens(Templated(TEMPLATES[name]), TALK, "One. Two.")
    context, question = map(len, WRITTEN[name])
    ends = [end + context + question for _, end in places]
    answer = [at for at, end in enumerate(ends) if end > context + question]
    useful = useful_spans("One. Two.", ["Two."], places)
    for spans, rows in ((None, answer), (useful, [start for start, _ in useful])):
        expected = _directly(model, rows, ids=ids, answer=(answer[0], len(ids)))
        found = attribute(model, ids, parts, useful=spans)
        assert found.tokens == pytest.approx(expected, abs=1e-6)
        for mean, own in (
            (found.context, [value for value, end in zip(expected, ends, strict=True) if end <= context]),
            (found.question, [v for v, end in zip(expected, ends, strict=True) if context < end <= context + question]),
            (found.answer, [expected[at] for at in answer]),
        ):
            assert mean == pytest.approx(sum(own) / len(own), abs=1e-6)


def _parts(template: str, messages: Sequence[Message], answer: str = "One.") -> list[str]:
    shown = render(Templated(template), messages, answer)
    return [shown.text[: shown.question], shown.text[shown.question : shown.answer], shown.text[shown.answer :]]


def test_a_system_prompt_is_context_wherever_the_template_puts_it() -> None:
    system = Message("system", "Be brief.")
    assert _parts(TEMPLATES["qwen3"], [system, *TALK])[0].startswith(f"{OPENS}system\nBe brief.{CLOSES}")
    assert _parts(TEMPLATES["mistral"], [system, *TALK]) == [
        "<s>[INST] Hello?[/INST] Hello.</s>", "[INST] Be brief.\n\nName them.[/INST] ", "One.",
    ]  # fmt: skip
    assert _parts(TEMPLATES["llama"], [system, TALK[0]])[0].endswith("Be brief.<|eot_id|>")


def test_one_question_has_no_context() -> None:
    for template in TEMPLATES.values():
        assert _parts(template, TALK[:1])[0] == ""


def test_texts_that_stand_twice_or_are_trimmed_are_found() -> None:
    same = [Message("user", " user "), Message("assistant", "assistant"), Message("user", "user\n")]
    assert _parts(TEMPLATES["llama"], same, "user") == [
        "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nuser<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\nassistant<|eot_id|>",
        "<|start_header_id|>user<|end_header_id|>\n\nuser<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
        "user",
    ]


@pytest.mark.parametrize(
    ("template", "messages"),
    [
        (TEMPLATES["gemma"], [Message("system", "Be brief."), *TALK]),
        (TEMPLATES["mistral"], [*TALK[:2], TALK[1], TALK[2]]),
        (TEMPLATES["qwen3"], [TALK[0], Message("assistant", "<think>Hm.</think>Hello."), TALK[2]]),
        ("{% for m in messages[-2:] %}{{ m.role + ': ' + m.content + '\n' }}{% endfor %}", TALK),
        ("{% for m in messages | reverse %}{{ m.role + ': ' + m.content + '\n' }}{% endfor %}", TALK),
        ("{% for m in messages %}{{ m.role + ': ' + m.content + m.content }}{% endfor %}", TALK),
        ("{% for m in messages %}{{ m.role + ': ' + m.content | upper + '\n' }}{% endfor %}", TALK),
        (
            "{% for m in messages %}{{ m.content }}{% endfor %}{{ messages | length + messages[0].content | length }}",
            TALK,
        ),
        ("{{ messages[0].text + 1 }}", TALK),
    ],
)
def test_a_template_in_which_the_parts_cannot_be_found_is_told(template: str, messages: list[Message]) -> None:
    with pytest.raises(InputError, match="chat template"):
        render(Templated(template), messages, "One.")


def test_a_token_over_two_parts_is_of_the_later_one() -> None:
    tokenizer = Templated(TEMPLATES["mistral"])
    tokenizer.pieces = r"\s*\w+|[^\w\s]|\s"  # words take the space before them along
    _, parts, places, texts = dialogue_tokens(tokenizer, TALK, "One. Two.")
    assert "".join(texts[slice(*parts.question)]) == "[INST] Name them.[/INST]"
    assert texts[slice(*parts.answer)] == [" One", ".", " Two", "."]
    assert [texts[start] for start, _ in useful_spans("One. Two.", ["One."], places)] == [" One", "."]


class Slow(Templated):
    """A tokenizer without offsets."""

    def __call__(self, text: str, return_offsets_mapping: bool, add_special_tokens: bool) -> dict[str, list[Any]]:
        raise NotImplementedError


def test_a_tokenizer_without_offsets_is_told() -> None:
    with pytest.raises(ConfigError, match="Slow"):
        dialogue_tokens(Slow(TEMPLATES["llama"]), TALK, "One.")


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
