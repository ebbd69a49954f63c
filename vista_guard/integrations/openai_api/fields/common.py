"""The part of the table that both APIs share: what answers cost, citations, tokens, and words of one kind or another."""

from __future__ import annotations

from typing import Final

from vista_guard.integrations.openai_api.fields.rules import (
    DROPPED,
    Rule,
    each,
    either,
    fields,
    flag,
    integer,
    line,
    number,
    one_of,
    repeated,
    token,
    url,
)
from vista_guard.integrations.openai_api.fields.sifting import Sifting
from vista_guard.integrations.openai_api.requests import Json

MODEL: Final = either(token, repeated("model"))
TIER: Final = one_of("auto", "default", "flex", "scale", "priority", "standard", "on_demand", "performance")

_DETAILS: Final[dict[str, Rule]] = dict.fromkeys(
    (
        "cached_tokens",
        "cache_write_tokens",
        "audio_tokens",
        "text_tokens",
        "image_tokens",
        "video_tokens",
        "reasoning_tokens",
        "accepted_prediction_tokens",
        "rejected_prediction_tokens",
        "upstream_inference_cost",
        "upstream_inference_prompt_cost",
        "upstream_inference_completions_cost",
    ),
    number,
)
_details = fields("usage", _DETAILS)
USAGE: Final = fields(
    "usage",
    {
        **dict.fromkeys(
            ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "total_tokens"), number
        ),
        **dict.fromkeys(("prompt_cache_hit_tokens", "prompt_cache_miss_tokens", "cost"), number),
        **dict.fromkeys(("cache_creation_input_tokens", "cache_read_input_tokens"), number),
        **dict.fromkeys(("queue_time", "prompt_time", "completion_time", "total_time"), number),
        **dict.fromkeys(("prompt_tokens_details", "completion_tokens_details", "cost_details"), _details),
        **dict.fromkeys(("input_tokens_details", "output_tokens_details"), _details),
    },
)

_TIMED = ("n", "ms", "per_token_ms", "per_second")
TIMINGS: Final = fields(
    "usage", {"cache_n": number, **{f"{what}_{name}": number for what in ("prompt", "predicted") for name in _TIMED}}
)
"""How long a llama.cpp server took."""

_CITED: Final[dict[str, Rule]] = {
    "type": one_of("url_citation", "file_citation", "container_file_citation", "file_path"),
    **dict.fromkeys(("start_index", "end_index", "index"), integer),
    **dict.fromkeys(("file_id", "container_id"), token),
    **dict.fromkeys(("title", "filename"), line),
    "url": url,
}
CITATION: Final = fields("citation", {**_CITED, "url_citation": fields("citation", _CITED)})

_PART_TEXTS: Final = {"text": "text", "output_text": "text", "refusal": "refusal"}
"""The types of a part that is words, and where each has them."""


def part_words(part: object) -> object:
    """The words of a content part; `DROPPED` for a part that is none."""
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return DROPPED
    kind = part.get("type", "text")
    name = _PART_TEXTS.get(kind) if isinstance(kind, str) else None
    text = part.get(name) if name else None
    return text if isinstance(text, str) else DROPPED


def spelled(text: object, entries: object, sifting: Sifting) -> list[Json]:
    """Log probabilities of the tokens that spell this very text, without the alternatives to them, which nobody judged."""
    if not isinstance(entries, list) or not entries:
        return []
    tokens = [_token_bytes(entry) for entry in entries]
    if not isinstance(text, str) or b"".join(token or b"" for token in tokens) != text.encode(errors="replace"):
        sifting.drop("logprobs")
        return []
    return [_entry(entry, spelling or b"") for entry, spelling in zip(entries, tokens, strict=True)]


def _token_bytes(entry: object) -> bytes | None:
    if not isinstance(entry, dict):
        return None
    given, said = entry.get("bytes"), entry.get("token")
    if isinstance(given, list) and all(type(byte) is int and 0 <= byte < 256 for byte in given):
        return bytes(given)
    return said.encode(errors="replace") if isinstance(said, str) else None


def _entry(entry: object, spelling: bytes) -> Json:
    """Said anew from its bytes: a token is told as they spell it, whatever it calls itself."""
    given: Json = entry if isinstance(entry, dict) else {}
    logprob = given.get("logprob")
    likely = logprob if isinstance(logprob, int | float) and not isinstance(logprob, bool) else None
    more: Json = {"bytes": list(spelling)} if isinstance(given.get("bytes"), list) else {}
    if "top_logprobs" in given:
        more["top_logprobs"] = []
    return {"token": spelling.decode(errors="backslashreplace"), "logprob": likely, **more}


FILTERED: Final = fields(
    "choice",
    dict.fromkeys(
        (
            "hate",
            "self_harm",
            "sexual",
            "violence",
            "jailbreak",
            "profanity",
            "indirect_attack",
            "protected_material_text",
            "protected_material_code",
        ),
        fields(
            "choice",
            {
                **dict.fromkeys(("filtered", "detected"), flag),
                "severity": one_of("safe", "low", "medium", "high"),
            },
        ),
    ),
)
"""What a content filter such as Azure's says."""

PROMPT_FILTERED: Final = each("answer", fields("answer", {"prompt_index": integer, "content_filter_results": FILTERED}))
