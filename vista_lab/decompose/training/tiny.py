"""The base of recipe `tiny`: a random model of two layers, to try a training on two cores without a download."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from vista_lab.training.trainers import without_noise

TINY = "tiny"
"""Name of the base in a recipe."""
TOKEN = r"\n| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]"
_TEMPLATE = (
    "{% for m in messages %}{{ m['content'] }}{{ eos_token if m['role'] == 'assistant' else '\\n' }}{% endfor %}"
)


def write_tiny_base(folder: Path, texts: Iterable[str], seed: int, *, token: str = TOKEN, window: int = 512) -> None:
    """Writes a random Llama of two layers, with a token for each word of these texts.

    Args:
        folder: of the model.
        texts: all that it may read or write; it knows no other word.
        seed: of its weights.
        token: pattern of a token.
        window: most tokens that it reads.
    """
    import torch
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = sorted({word for text in texts for word in re.findall(token, text)})
    vocabulary = {word: place for place, word in enumerate(["<pad>", "<eos>", "<unk>", *words])}
    tokens = Tokenizer(models.WordLevel(vocabulary, "<unk>"))
    tokens.pre_tokenizer = pre_tokenizers.Split(Regex(token), "removed", invert=True)
    tokens.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=tokens, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", chat_template=_TEMPLATE
    )
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=window,
        tie_word_embeddings=True,
        initializer_range=0.05,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=1,
    )
    with without_noise():
        LlamaForCausalLM(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
