"""Options of models: prompts, retries and limits of a model judge; how a verifier, embedder or decomposer is read and run."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class FrozenOptions(BaseModel):
    """Base of a table of options. Unknown names are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Price(FrozenOptions):
    """A model's price in US dollars per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    """Input that the endpoint reads from its prompt cache; as `input` when not given."""


class Spend(FrozenOptions):
    """An upper bound on spending; unbounded when empty."""

    calls: int | None = Field(default=None, ge=0)
    """Calls of the model."""
    tokens: int | None = Field(default=None, ge=0)
    """Input and output tokens together, as the endpoint counts them."""
    cost: float | None = Field(default=None, ge=0)
    """US dollars. Needs a known price: `prices` for a model that the price table does not have."""


class BudgetOptions(FrozenOptions):
    """Spending limits of a model judge. No call starts beyond them.

    Calls are counted before they are made, tokens and cost when the answer is there: calls that are then in flight (at most
    `concurrency`) may still exceed the bounds on tokens and cost.
    """

    run: Spend = Spend()
    """For the life of the judge: a replay stops cleanly when it is spent, and can be resumed."""
    turn: Spend = Spend()
    """For one turn: claims beyond the budget become `Unchecked`."""


class BreakerOptions(FrozenOptions):
    """The circuit breaker for a failing endpoint."""

    failures: int = Field(default=5, ge=1)
    """Failed calls in a row after which calls stop: no answer, a server error, or a rate limit that outlasts the retries."""
    cool_down_s: float = Field(default=30.0, gt=0)
    """Seconds for which calls then fail at once, without being sent."""


class ModelOptions(FrozenOptions):
    """Options of a chat model as judge. Unknown names are refused."""

    strategy: Literal["per_claim", "batched", "fused"] = "batched"
    """`per_claim`: one call for each claim and step, as the paper does it, all claims at once. `batched`: one call splits the
    turn, one judges all of its claims. `fused`: one call a turn."""
    shots: Literal["few", "zero"] = "few"
    """`zero` leaves the examples out of the prompts."""
    knowledge: Literal["on", "off"] = "on"
    """`off` hides what the conversation has established from the judge (an ablation of the paper)."""
    prompts_dir: Path | None = None
    """A folder with your own prompt files; the shipped ones are used for files that it lacks."""
    assistant_name: str = Field(default="assistant", min_length=1)
    """The assistant's name in prompts."""
    user_name: str = Field(default="user", min_length=1)
    """The user's name in prompts."""

    temperature: float | None = Field(default=0.0, ge=0, le=2)
    """None sends none. Dropped for models that refuse it."""
    seed: int | None = None
    """Sent with every call if given. Endpoints return the same answer for the same seed most of the time at best."""
    max_output_tokens: int | None = Field(default=None, gt=0)
    """Maximum tokens of an answer, thinking included. Not set: the turn's length decides, and the endpoint limits thinking; a
    LangChain model keeps its own limit."""
    structured_output: Literal["auto", "json_schema", "json_object", "off"] = "auto"
    """How answers are made to fit their schema. `auto` uses the strictest way that the endpoint supports, found with the first
    call. A named way is the only one tried; `off` asks for text."""

    timeout_s: float = Field(default=60.0, gt=0)
    """Seconds for one call with all of its retries. Waiting for a free place or a rate limit does not count."""
    max_retries: int = Field(default=2, ge=0)
    """Retries after temporary faults (connection, 408, 409, 429 and server errors), with growing pauses or those that
    `Retry-After` asks for."""
    concurrency: int = Field(default=16, ge=1)
    """Calls at a time."""
    requests_per_minute: float | None = Field(default=None, ge=1)
    """Calls a minute; unlimited when not given."""
    tokens_per_minute: float | None = Field(default=None, ge=1)
    """Input and output tokens. Prompts are estimated at 4 characters a token and corrected after the call."""
    breaker: BreakerOptions = BreakerOptions()
    """When calls to a failing endpoint stop for a while."""
    budget: BudgetOptions = BudgetOptions()
    """What may be spent; no call starts beyond it."""
    prices: dict[str, Price] = Field(default_factory=dict)
    """Prices by model name, before those of the price table: `{"my-model": {"input": 0.1, "output": 0.4}}`."""


MODEL_DEFAULTS = ModelOptions()

FamilyName = Literal["nli", "minicheck", "hhem", "factcg", "alignscore", "lettucedetect"]
LabelName = Literal["supported", "contradicted", "not_enough"]


class VerifierOptions(FrozenOptions):
    """Options of the model that `verifier` names. Unknown names are refused."""

    family: FamilyName | None = None
    """How the model takes its input and what its outputs are. Not set: told from its name and configuration."""
    labels: tuple[LabelName, ...] | None = None
    """The meaning of each output of the model, in order; needed if its `id2label` does not say."""
    file: str | None = None
    """The ONNX file inside the folder, for example `onnx/model_quantized.onnx`; `model.onnx` or `onnx/model.onnx` when not
    given."""
    device: str = "cpu"
    """`cpu`, or `cuda` where onnxruntime or torch has it."""
    max_tokens: int | None = Field(default=None, ge=32)
    """Maximum tokens of a claim with its evidence; longer evidence is read in windows. Not set: the model's own maximum."""
    batch_size: int | None = Field(default=None, ge=1)
    """Pairs in one pass, 8 when not given, 1 for quantised ONNX files: there a pair's scores depend on its neighbours."""
    calibration: Path | None = None
    """The file that `vista-guard calibrate --verifier` wrote: temperature and thresholds for this verifier."""
    multilingual: bool = False
    """True if the model reads other languages too: the embedded judge then judges turns in them, sentence by sentence."""


VERIFIER_DEFAULTS = VerifierOptions()


Pooling = Literal["mean", "cls", "last"]


class EmbedderOptions(FrozenOptions):
    """Options of the model that `embedder` names. Unknown names are refused."""

    pooling: Pooling | None = None
    """How the tokens' vectors become the text's vector; `last`: the last token's, as in Qwen3-Embedding. Read from
    `1_Pooling/config.json` of the folder when not given; `mean` where there is none."""
    query_prefix: str | None = None
    """Text put before a query. When not given: the folder's own (`prompts` of `config_sentence_transformers.json`), `query: `
    for a model that is called E5, nothing for others."""
    passage_prefix: str | None = None
    """Text put before a passage, found in the same way: `passage: ` for E5."""
    file: str | None = None
    """The ONNX file inside the folder; `model.onnx` or `onnx/model.onnx` when not given."""
    device: str = "cpu"
    """`cpu`, or `cuda` where onnxruntime or torch has it."""
    max_tokens: int | None = Field(default=None, ge=16)
    """Maximum tokens of a text, and so of a passage. Not set: the model's own maximum."""
    batch_size: int | None = Field(default=None, ge=1)
    """Texts in one pass, 8 when not given, 1 for quantised ONNX files: there a vector depends on its neighbours."""


EMBEDDER_DEFAULTS = EmbedderOptions()


class DecomposerOptions(FrozenOptions):
    """Options of the model that `decomposer` names. Unknown names are refused."""

    prefix: str | None = None
    """Text put before each passage, such as `extract claims: `. `prefix` of the folder's `config.json` when not given, else
    nothing."""
    separator: str | None = None
    """Text between two claims of the output, such as a line break. When not given, each sentence of the output is a claim."""
    sentences: int = Field(default=5, ge=1)
    """Sentences that the model reads at once; LLM-OASIS trains on passages of 5."""
    device: str = "cpu"
    """`cpu`, or `cuda` where onnxruntime or torch has it."""
    max_tokens: int = Field(default=512, ge=32)
    """Maximum tokens of a passage; a longer one is cut between sentences."""
    max_output_tokens: int = Field(default=512, ge=1)
    """Maximum tokens of the answer. If an answer is cut off, its passage is unchecked."""
    batch_size: int | None = Field(default=None, ge=1)
    """Passages in one pass, 8 when not given."""
    before: int = Field(default=2, ge=0)
    """Sentences before a sentence that are shown to a chat model with it (p of DAD, §3.1)."""
    after: int = Field(default=2, ge=0)
    """Sentences after it (f of DAD, §3.1). A stream waits for them; 0 for none."""
    keep_steps: bool = False
    """Reports, dashboard and error sheets show how a sentence was split, in the decomposer's words: `Claim.steps`."""


DECOMPOSER_DEFAULTS = DecomposerOptions()
