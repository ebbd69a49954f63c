"""Importance of each token for a dialogue's last answer, by signed gradient × attention, on a local model.

Needs the extra `torch`. Source: KnowMT-Bench, Eq. 5–11 and Fig. 16.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise, takewhile
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


@dataclass(frozen=True)
class RenderedDialogue:
    """A dialogue as the model reads it, and where its parts begin: the context at 0, then question and answer, up to the end."""

    text: str
    question: int
    answer: int


def render(tokenizer: Any, messages: Sequence[Message], answer: str) -> RenderedDialogue:
    """Writes a dialogue by the tokenizer's chat template, else with plain speakers, and finds its parts by their offsets.

    The whole dialogue is written at once, answer included, since templates write a turn differently at the end than within
    (empty thoughts), and move the system prompt. What stands between the parts is learnt from the same dialogue with marks in
    place of the texts. The question begins with the template's words that open its turn. Raises InputError: the template
    refuses the dialogue, leaves a message out, moves one behind the question, or changes its text.
    """
    chat = [*messages, Message("assistant", answer)]
    marks = [f"vistaguard{number:04}mark" for number in range(len(chat))]
    marked = _as_text(tokenizer, [Message(one.role, mark) for one, mark in zip(chat, marks, strict=True)])
    places = [_place(marked, mark, one.role) for one, mark in zip(chat, marks, strict=True)]
    spoken = [number for number, one in enumerate(chat) if one.role != "system"]
    question, before = len(chat) - 2, [number for number in spoken if number < len(chat) - 2]
    order = [places[number] for number in spoken]
    if order != sorted(order) or max(places) != places[-1]:
        raise InputError("the chat template moves a message behind the one that follows it: its parts cannot be found")
    text = _as_text(tokenizer, chat)
    starts, ends = _align(marked, marks, places, text, [one.content for one in chat])
    first = max((ends[number] for number in before), default=0)
    if not before and messages[0].role == "system" and ends[0] < starts[question]:
        first = ends[0]
    # What closes the answer's turn closes the turn before the question, too.
    closing = marked[places[-1] + len(marks[-1]) :] if before or first else ""
    between = zip(text[first : starts[question]], closing, strict=False)
    first += sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], between))
    return RenderedDialogue(text[: ends[-1]], first, starts[-1])


def _place(marked: str, mark: str, role: str) -> int:
    if marked.count(mark) != 1:
        raise InputError(
            f"the chat template writes a message of the {role} {marked.count(mark)} times, not once: its parts cannot be found"
        )
    return marked.index(mark)


def _align(
    marked: str, marks: Sequence[str], places: Sequence[int], text: str, contents: Sequence[str]
) -> tuple[list[int], list[int]]:
    """First and last character of each message in the text, which has the words between marks, and trims at most."""
    starts, ends = [0] * len(marks), [0] * len(marks)
    order = sorted(range(len(marks)), key=lambda number: places[number])
    between = [*(places[number] for number in order[1:]), len(marked)]
    at = places[order[0]]
    fits = text.startswith(marked[:at])
    for number, end in zip(order, between, strict=True):
        content, follows = contents[number], marked[places[number] + len(marks[number]) : end]
        written = (content, content.strip(), content.lstrip(), content.rstrip())
        shown = next((one for one in written if text.startswith(one + follows, at)), None)
        if not fits or shown is None:
            raise InputError("the chat template changes the text of a message: its parts cannot be found")
        starts[number], ends[number] = at, at + len(shown)
        at += len(shown) + len(follows)
    if at != len(text):
        raise InputError("the chat template writes more after these texts than after others: its parts cannot be found")
    return starts, ends


def dialogue_tokens(
    tokenizer: Any, messages: Sequence[Message], answer: str
) -> tuple[list[int], DialogueParts, list[Span], list[str]]:
    """Tokenizes a dialogue: ids, parts, each token's place in the answer (negative before it), and its text.

    `messages` are the history and the last question; `render` writes them. A token over two parts is of the later one.

    Raises:
        ConfigError: the tokenizer gives no offsets.
        InputError: the parts cannot be found in what the chat template writes.
    """
    shown = render(tokenizer, messages, answer)
    try:
        encoded = tokenizer(shown.text, return_offsets_mapping=True, add_special_tokens=False)
    except NotImplementedError as exc:
        raise ConfigError(
            f"{type(tokenizer).__name__} gives no offsets; take a model with a fast tokenizer (tokenizer.json)"
        ) from exc
    offsets = [(int(start), int(end)) for start, end in encoded["offset_mapping"]]
    boundaries = (shown.question, shown.answer)
    after = ((place for place, (_, end) in enumerate(offsets) if end > boundary) for boundary in boundaries)
    context, first = (next(places, len(offsets)) for places in after)
    ids = [int(token_id) for token_id in encoded["input_ids"]]
    starts = [*(start for start, _ in offsets), len(shown.text)]
    texts = [shown.text[start:end] for start, end in pairwise(starts)]
    trimmed = len(answer) - len(answer.lstrip()) if shown.text[shown.answer :] != answer else 0
    places = [(start - shown.answer + trimmed, end - shown.answer + trimmed) for start, end in offsets]
    return ids, DialogueParts((0, context), (context, first), (first, len(ids))), places, texts


def _as_text(tokenizer: Any, messages: Sequence[Message]) -> str:
    if not getattr(tokenizer, "chat_template", None):
        return "".join(f"{message.role.capitalize()}: {message.content}\n\n" for message in messages)
    from jinja2 import TemplateError

    chat = [{"role": message.role, "content": message.content} for message in messages]
    try:
        return str(tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=False))
    except (TemplateError, TypeError, ValueError) as exc:
        raise InputError(f"the model's chat template refuses this dialogue: {exc}") from exc


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
    return [(at, at + 1) for at in rows if places[at][1] > 0]


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
