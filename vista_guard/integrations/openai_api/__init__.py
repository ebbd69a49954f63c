"""OpenAI's API without its SDK: requests that are asked again, answers that are judged, tokens that wait for their text."""

from vista_guard.integrations.openai_api.answers import ending_report, ground, judge_or_ask_again, with_answer
from vista_guard.integrations.openai_api.logprobs import PendingLogprobs
from vista_guard.integrations.openai_api.requests import BINDING, Api, Json, repeatable, request_again, summed

__all__ = [
    "BINDING",
    "Api",
    "Json",
    "PendingLogprobs",
    "ending_report",
    "ground",
    "judge_or_ask_again",
    "repeatable",
    "request_again",
    "summed",
    "with_answer",
]
