"""OpenAI's API without its SDK: requests that are asked again, answers that are judged, tokens that wait for their text."""

from vista_guard.integrations.openai_api.answers import answered, ending_report, ground, judge_or_ask_again
from vista_guard.integrations.openai_api.logprobs import PendingLogprobs
from vista_guard.integrations.openai_api.requests import BINDING, Api, Json, asked_again, repeatable, summed

__all__ = [
    "BINDING",
    "Api",
    "Json",
    "PendingLogprobs",
    "answered",
    "asked_again",
    "ending_report",
    "ground",
    "judge_or_ask_again",
    "repeatable",
    "summed",
]
