"""Importance of each token for a dialogue's last answer, by signed gradient × attention, on a local model.

Needs the extra `torch`. Source: KnowMT-Bench, Eq. 5–11 and Fig. 16.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

from vista_guard._extras import require
from vista_guard.errors import ConfigError, InputError
from vista_guard.inference.hub import model_folder
from vista_guard.inference.torch_models import causal_model
from vista_guard.judges.model import Message
from vista_guard.reading.passages import sentence_spans

Span = tuple[int, int]
"""First token and the one after the last, counted from 0."""


@dataclass(frozen=True)
class DialogueParts:
    """Spans of context, question and answer, which follow each other and cover all tokens."""

    context: Span
    question: Span
    answer: Span

    def __post_init__(self) -> None:
        spans = (self.context, self.question, self.answer)
        joined = self.context[0] == 0 and self.context[1] == self.question[0] and self.question[1] == self.answer[0]
        if not joined or any(start > end for start, end in spans) or self.answer[0] >= self.answer[1]:
            raise InputError(
                f"Context, question and answer must follow each other from token 0, the answer not empty: {spans}."
            )


@dataclass(frozen=True)
class Importance:
    """I of every token (-1 to 1), and its means by part. A mean is None if the part has no token."""

    tokens: tuple[float, ...]
    context: float | None
    question: float | None
    answer: float | None


def attribute(
    model: Any, ids: Sequence[int], parts: DialogueParts, *, useful: Iterable[Span] | None = None, max_gib: float = 8.0
) -> Importance:
    """Importance of each token to the answer's log-likelihood (Eq. 7, or Eq. 9 with `useful` spans).

    Args:
        model: a transformers causal model, loaded with `attn_implementation="eager"`.
        ids: token ids of context, question and answer, one list.
        useful: spans inside the answer that count; the whole answer when None.
        max_gib: GiB that the attention matrices may take, gradients included.

    Raises:
        InputError: ids and parts differ in length, a useful span lies outside the answer, or the dialogue is too long.
        ConfigError: the model does not return its attention.
    """
    rows = _rows(parts, useful)
    if parts.answer[1] != len(ids):
        raise InputError(
            f"The parts end at token {parts.answer[1]}, but there are {len(ids)} tokens. Tokenise them together."
        )
    _check_memory(model, len(ids), max_gib)
    return _means(_token_importance(model, ids, parts, rows), parts)


def _rows(parts: DialogueParts, useful: Iterable[Span] | None) -> list[int]:
    first, end = parts.answer
    rows: set[int] = set()
    for span in [parts.answer] if useful is None else useful:
        if not first <= span[0] < span[1] <= end:
            raise InputError(
                f"The useful span {span} is empty or outside the answer {parts.answer}. Count tokens from 0."
            )
        rows.update(range(*span))
    if not rows:
        raise InputError(
            "No useful span is left: nothing of the answer can be attributed. Leave `useful` out for all of it."
        )
    return sorted(rows)


def _check_memory(model: Any, length: int, max_gib: float) -> None:
    config = model.config
    size = next(model.parameters()).element_size()
    # Weights and their softmax input stay in the graph for every layer; gradients are there for one layer at a time.
    needed = (3 * config.num_hidden_layers + 2) * config.num_attention_heads * length**2 * size / 2**30
    if needed > max_gib:
        raise InputError(
            f"{length} tokens need about {needed:.1f} GiB of attention, {max_gib} are allowed. Shorten it or raise max_gib."
        )


def _token_importance(model: Any, ids: Sequence[int], parts: DialogueParts, rows: list[int]) -> list[float]:
    import torch

    model.eval()
    tokens = torch.tensor([list(ids)], device=next(model.parameters()).device)
    first = max(parts.answer[0], 1)  # the very first token is predicted by nothing
    with torch.enable_grad():
        embedded = model.get_input_embeddings()(tokens).detach().requires_grad_(True)
        out = model(inputs_embeds=embedded, output_attentions=True, use_cache=False)
        if not out.attentions or out.attentions[0] is None:
            raise ConfigError("The model hands out no attention. Load it with attn_implementation='eager'.")
        logs = torch.log_softmax(out.logits[0, first - 1 : -1].float(), dim=-1)
        score = logs.gather(1, tokens[0, first:, None]).sum()
        total = torch.zeros(len(ids), dtype=torch.float64, device=tokens.device)
        for weights in out.attentions:  # one layer's gradient at a time
            (gradient,) = torch.autograd.grad(score, weights, retain_graph=True)
            total += (weights.detach() * gradient.sign())[0, :, rows].double().sum((0, 1))
    return [float(x) for x in total / (len(out.attentions) * out.attentions[0].shape[1] * len(rows))]


def _means(tokens: list[float], parts: DialogueParts) -> Importance:
    def mean(span: Span) -> float | None:
        part = tokens[slice(*span)]
        return sum(part) / len(part) if part else None

    return Importance(tuple(tokens), mean(parts.context), mean(parts.question), mean(parts.answer))


def load_local(name: str, device: str = "cpu") -> tuple[Any, Any]:
    """A causal model that returns its attention, and its tokenizer: a folder, or `hf:ORG/MODEL`, on `cpu` or `cuda`.

    Raises ConfigError if the extra `torch` or the model is missing.
    """
    require("attribution", "torch", "transformers", extra="torch")
    return causal_model(model_folder(name, "model"), device)


def dialogue_tokens(
    tokenizer: Any, messages: Sequence[Message], answer: str
) -> tuple[list[int], DialogueParts, list[Span], list[str]]:
    """Tokenizes a dialogue: ids, parts, each token's place in the answer (negative before it), and its text.

    `messages` are the history and the last question, formatted by the tokenizer's chat template, else with plain speakers.
    """
    before = _as_text(tokenizer, messages[:-1], asks=False) if len(messages) > 1 else ""
    prompt = _as_text(tokenizer, messages, asks=True)
    encoded = tokenizer(prompt + answer, return_offsets_mapping=True, add_special_tokens=False)
    places = [(start - len(prompt), end - len(prompt)) for start, end in encoded["offset_mapping"]]
    first = sum(start < 0 for start, _ in places)
    context = sum(start + len(prompt) < len(before) for start, _ in places) if prompt.startswith(before) else 0
    ids = [int(token_id) for token_id in encoded["input_ids"]]
    starts = [*(start + len(prompt) for start, _ in places), len(prompt) + len(answer)]
    texts = [(prompt + answer)[start:end] for start, end in pairwise(starts)]
    return ids, DialogueParts((0, context), (context, first), (first, len(ids))), places, texts


def _as_text(tokenizer: Any, messages: Sequence[Message], *, asks: bool) -> str:
    if getattr(tokenizer, "chat_template", None):
        chat = [{"role": message.role, "content": message.content} for message in messages]
        return str(tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=asks))
    text = "".join(f"{message.role.capitalize()}: {message.content}\n\n" for message in messages)
    return f"{text}Assistant: " if asks else text


def useful_spans(answer: str, statements: Iterable[str], places: Sequence[Span]) -> list[Span]:
    """Tokens of the sentences behind these statements (Eq. 8): for each, the sentence that shares most words with it.

    The paper aligns them with a model. Words suffice if each statement comes from one sentence, as with decomposers.
    """
    sentences = [(span.start, span.end) for span in sentence_spans(answer)]
    chosen = set()
    for statement in statements:
        words = set(statement.casefold().split())
        shared = [len(words & set(answer[start:end].casefold().split())) for start, end in sentences]
        if any(shared):
            chosen.add(sentences[shared.index(max(shared))])
    rows = [at for at, (start, end) in enumerate(places) if any(start < last and end > first for first, last in chosen)]
    return [(at, at + 1) for at in rows if places[at][0] >= 0]


def heat_map(tokens: Sequence[str], importance: Importance) -> str:
    """HTML of the tokens, green where attending to them helps the answer and red where it hinders (Fig. 16).

    Raises InputError if there are more or fewer tokens than importances.
    """
    if len(tokens) != len(importance.tokens):
        raise InputError(
            f"{len(tokens)} tokens, but {len(importance.tokens)} importances. Give the tokens that were attributed."
        )
    largest = max(map(abs, importance.tokens), default=0.0) or 1.0
    spans = (_coloured(token, value, largest) for token, value in zip(tokens, importance.tokens, strict=True))
    return '<p style="white-space:pre-wrap">' + "".join(spans) + "</p>"


def _coloured(token: str, value: float, largest: float) -> str:
    colour = "44,160,44" if value > 0 else "214,39,40"
    return f'<span title="{value:+.5f}" style="background:rgba({colour},{abs(value) / largest:.2f})">{escape(token)}</span>'
