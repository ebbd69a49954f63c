"""The names of spans, attributes, events and metrics. docs/telemetry.md is generated from them.

Names of OpenTelemetry's GenAI conventions and of OpenInference are literals: the package with the constants deprecates them
while they move.
"""

from __future__ import annotations

from dataclasses import dataclass

SCOPE = "vista_guard"

TURN = "vista_guard.turn"
AGENT = "invoke_agent"
CHAT = "chat"
SENTENCE = "vista_guard.sentence"
CATCH_UP = "vista_guard.catch_up"
JUDGE = "vista_guard.judge"
PROXY = "vista_guard.proxy"

CONVERSATION = "gen_ai.conversation.id"
SESSION = "session.id"
KIND = "openinference.span.kind"
STAGE = "vista_guard.stage"
OPERATION = "gen_ai.operation.name"
PROVIDER = "gen_ai.provider.name"
AGENT_NAME = "gen_ai.agent.name"
REQUEST_MODEL = "gen_ai.request.model"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
MODALITY = "gen_ai.token.modality"
ERROR_TYPE = "error.type"
ACTION = "vista_guard.action"
SCORE = "vista_guard.score"
RISK = "vista_guard.risk"
POLICY = "vista_guard.policy"
POLICY_RULES = "vista_guard.policy.label_policy"
JUDGE_NAME = "vista_guard.judge.name"
JUDGE_VERSION = "vista_guard.judge.version"
QUESTION = "vista_guard.judge.question"
GATE = "vista_guard.gate"
TURN_INDEX = "vista_guard.turn.index"
EVIDENCE_MISSING = "vista_guard.evidence_missing"
ATTEMPTS = "vista_guard.attempts"
REPAIR = "vista_guard.repair"
REPORT_ID = "vista_guard.report.id"
ABANDONED = "vista_guard.abandoned"
CLAIMS = "vista_guard.claims"
LABELS = ("verified", "out_of_scope", "contradicted", "lacking_evidence", "abstention", "unchecked")
USAGE_INPUT = "vista_guard.usage.input_tokens"
USAGE_OUTPUT = "vista_guard.usage.output_tokens"
USAGE_COST = "vista_guard.usage.cost"
SENTENCE_INDEX = "vista_guard.sentence.index"
SENTENCE_OUTCOME = "vista_guard.sentence.outcome"
SENTENCE_HOLD = "vista_guard.sentence.hold_ms"
HTTP_METHOD = "http.request.method"
HTTP_STATUS = "http.response.status_code"
INPUT = "input.value"
OUTPUT = "output.value"
INPUT_MESSAGES = "gen_ai.input.messages"
OUTPUT_MESSAGES = "gen_ai.output.messages"

EVALUATION = "gen_ai.evaluation.result"
EVALUATION_NAME = "gen_ai.evaluation.name"
EVALUATION_SCORE = "gen_ai.evaluation.score.value"
EVALUATION_LABEL = "gen_ai.evaluation.score.label"
EXPLANATION = "gen_ai.evaluation.explanation"
CLAIM_ID = "vista_guard.claim.id"
CLAIM_START = "vista_guard.claim.start"
CLAIM_END = "vista_guard.claim.end"

TURN_SCORE = "vista.score"
CLAIM_SCORE = "vista.claim"

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
INFERENCE_BOUNDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
CONFIDENCES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Name:
    """A name with its place and description. `kind`: a span's kind, an attribute's type, a metric's instrument and unit."""

    name: str
    kind: str
    on: str
    says: str


SPANS = (
    Name(TURN, "INTERNAL", "the caller's span", "one guarded turn, from the agent or the draft to the report"),
    Name(f"{AGENT} {{name}}", "INTERNAL", TURN, "the agent, where the guard calls it; once a draft"),
    Name("vista_guard.gather", "INTERNAL", TURN, "evidence is collected"),
    Name(CATCH_UP, "INTERNAL", "vista_guard.gather", "an earlier turn that is not known is judged"),
    Name("vista_guard.decompose", "INTERNAL", TURN, "the turn is split into claims"),
    Name("vista_guard.verify", "INTERNAL", TURN, "claims are verified against the evidence"),
    Name("vista_guard.categorize", "INTERNAL", TURN, "why a claim is not supported"),
    Name("vista_guard.decide", "INTERNAL", TURN, "the policy decides"),
    Name("vista_guard.repair", "INTERNAL", TURN, "the turn is repaired, or another draft is asked for"),
    Name("vista_guard.remember", "INTERNAL", TURN, "what was delivered becomes knowledge"),
    Name("vista_guard.report", "INTERNAL", TURN, "the report is written to the sinks"),
    Name(SENTENCE, "INTERNAL", TURN, "with the gate `sentence`: one sentence, from its last character to its way out"),
    Name(JUDGE, "INTERNAL", "a stage", "one question to a judge inside of another: of a cascade, an ensemble"),
    Name(f"{CHAT} {{model}}", "CLIENT", "a stage", "one call of a model judge; see `otel.model_spans`"),
    Name(PROXY, "SERVER", "the caller's `traceparent`", "one judged request of the proxy, upstream's answer included"),
)

ATTRIBUTES = (
    Name(CONVERSATION, "string", "every span", "the conversation's id, where it has one"),
    Name(SESSION, "string", "every span", "the same, by the name that Phoenix, Langfuse and MLflow group by"),
    Name(KIND, "string", "every span", "OpenInference's kind: AGENT, GUARDRAIL, RETRIEVER, CHAIN, EVALUATOR, LLM"),
    Name(STAGE, "string", "stages", "the stage's name"),
    Name(OPERATION, "string", f"`{AGENT}`, `{CHAT}`", "`invoke_agent` or `chat`"),
    Name(AGENT_NAME, "string", f"`{AGENT}`", "the agent's name, where it has one"),
    Name(PROVIDER, "string", f"`{CHAT}`", "who serves the model: `openai`, or LangChain's provider"),
    Name(REQUEST_MODEL, "string", f"`{CHAT}`", "the model that was asked"),
    Name(INPUT_TOKENS, "int", f"`{CHAT}`", "as the endpoint counts them"),
    Name(OUTPUT_TOKENS, "int", f"`{CHAT}`", "as the endpoint counts them"),
    Name(ERROR_TYPE, "string", "what failed, and stages that left a claim unchecked", "a class, never a message"),
    Name(ACTION, "string", "turn", "ALLOW, FLAG, REPAIR, BLOCK. A BLOCK is no error: the status stays unset"),
    Name(SCORE, "double", "turn", "the VISTA score in [0, 1]; left out when nothing was judged"),
    Name(RISK, "double", "turn", "the turn's risk in [0, 1]"),
    Name(POLICY, "string", "turn", "the policy's name"),
    Name(POLICY_RULES, "string", "turn", "a fingerprint of the policy's rules"),
    Name(JUDGE_NAME, "string", "turn, judge", "the judge's name"),
    Name(JUDGE_VERSION, "string", "turn, judge", "the judge's version"),
    Name(QUESTION, "string", "judge", "decompose, judge_turn, verify or categorize"),
    Name(GATE, "string", "turn", "none, sentence or turn"),
    Name(TURN_INDEX, "int", "turn", "the turn's place in the conversation"),
    Name(EVIDENCE_MISSING, "boolean", "turn", "whether there was nothing to verify against"),
    Name(ATTEMPTS, "int", "turn", "drafts that were rejected before this one"),
    Name(REPAIR, "string", "turn", "how the turn was repaired, if it was"),
    Name(REPORT_ID, "string", "turn", "the report's id: the way to the stored report"),
    Name(ABANDONED, "boolean", "turn", "the reader left, or the run was interrupted: there is no report"),
    *(Name(f"{CLAIMS}.{label}", "int", "turn", f"claims that are {label}") for label in LABELS),
    Name(USAGE_INPUT, "int", "turn", "the judge's tokens; not `gen_ai.usage.*`, which backends would count twice"),
    Name(USAGE_OUTPUT, "int", "turn", "the judge's tokens"),
    Name(USAGE_COST, "double", "turn", "US dollars, as far as prices are known"),
    Name(SENTENCE_INDEX, "int", "sentence", "from 1"),
    Name(SENTENCE_OUTCOME, "string", "sentence", "released, marked, dropped or withheld"),
    Name(SENTENCE_HOLD, "double", "sentence", "milliseconds that it was held back"),
    Name(HTTP_METHOD, "string", "proxy", "of the request"),
    Name(HTTP_STATUS, "int", "proxy", "of the answer"),
    Name(INPUT, "string", "turn, proxy", "what the user said last. Only with content"),
    Name(OUTPUT, "string", "turn, proxy", "what was delivered, never a draft that was not. Only with content"),
    Name(INPUT_MESSAGES, "string", "turn", "the conversation before the turn, as JSON. Only with content"),
    Name(OUTPUT_MESSAGES, "string", "turn", "what was delivered, as JSON. Only with content"),
)

EVENTS = (
    Name(EVALUATION, f"`{EVALUATION_NAME}` = `{TURN_SCORE}`", "turn", "one a turn: score and action"),
    Name(EVALUATION, f"`{EVALUATION_NAME}` = `{CLAIM_SCORE}`", "turn", "one a claim: confidence and label"),
)

EVENT_ATTRIBUTES = (
    Name(EVALUATION_NAME, "string", "both", f"`{TURN_SCORE}` or `{CLAIM_SCORE}`"),
    Name(EVALUATION_SCORE, "double", "both", "the score, or the confidence, in [0, 1]; left out where there is none"),
    Name(EVALUATION_LABEL, "string", "both", "the action, or the claim's label, `UNCHECKED` among them"),
    Name(CONVERSATION, "string", "both", "the conversation's id, where it has one"),
    Name(SESSION, "string", "both", "the same"),
    Name(REPORT_ID, "string", "both", "the report's id"),
    Name(CLAIM_ID, "string", "claim", "the claim's id in the report"),
    Name(CLAIM_START, "int", "claim", "where the claim stands in the draft, in characters"),
    Name(CLAIM_END, "int", "claim", "where it ends"),
    Name(
        EXPLANATION,
        "string",
        "both",
        "the reason. Only with content, and only of turns that were delivered as they were",
    ),
)

TURN_SECONDS = "vista_guard.turn.duration"
STAGE_SECONDS = "vista_guard.stage.duration"
HOLD_SECONDS = "vista_guard.sentence.hold"
TURNS_COUNTED = "vista_guard.turns"
CLAIMS_COUNTED = "vista_guard.claims"
CONFIDENCE = "vista_guard.claim.confidence"
UNCHECKED = "vista_guard.unchecked"
MISSING = "vista_guard.evidence.missing"
SINK_ERRORS = "vista_guard.sink.errors"
JUDGE_TOKENS = "vista_guard.judge.tokens"
JUDGE_COST = "vista_guard.judge.cost"
STREAMS = "vista_guard.streams.active"
INFERENCE_SECONDS = "gen_ai.client.inference.duration"
INFERENCE_INPUT = "gen_ai.client.inference.usage.input_tokens"
INFERENCE_OUTPUT = "gen_ai.client.inference.usage.output_tokens"

METRICS = (
    Name(
        TURN_SECONDS,
        "histogram, s",
        "action, gate, policy, judge",
        "the guard's time for a turn: its stages, without the agent",
    ),
    Name(STAGE_SECONDS, "histogram, s", "stage", "one stage of a turn, its repetitions together"),
    Name(HOLD_SECONDS, "histogram, s", "outcome", "how long a sentence was held back"),
    Name(TURNS_COUNTED, "counter, {turn}", "action, repair", "turns judged"),
    Name(CLAIMS_COUNTED, "counter, {claim}", "label", "claims judged"),
    Name(CONFIDENCE, "histogram, 1", "label", "the confidence of findings"),
    Name(UNCHECKED, "counter, {claim}", "error.type", "claims that could not be judged"),
    Name(MISSING, "counter, {turn}", "", "turns without evidence"),
    Name(SINK_ERRORS, "counter, {error}", "error.type", "reports that a sink did not take"),
    Name(JUDGE_TOKENS, "counter, {token}", "type, model", "tokens of model judges"),
    Name(JUDGE_COST, "counter, {USD}", "model", "what model judges cost, as far as prices are known"),
    Name(STREAMS, "up-down counter, {stream}", "gate", "turns that are being streamed"),
)

_MODEL = "operation, provider and model; error.type"
LATEST_METRICS = (
    Name(INFERENCE_SECONDS, "histogram, s", _MODEL, "one call of a model judge"),
    Name(INFERENCE_INPUT, "counter, {token}", f"{_MODEL}; token.modality", "as the endpoint counts them"),
    Name(INFERENCE_OUTPUT, "counter, {token}", f"{_MODEL}; token.modality", "as the endpoint counts them"),
)
"""Metrics of OpenTelemetry's GenAI conventions 0.1.0, whose names still move: sent only to those who opt in."""
