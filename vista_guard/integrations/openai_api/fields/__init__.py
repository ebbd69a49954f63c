"""What of an upstream's answer passes: one table for both APIs, whole and streamed, for the client and the proxy."""

from vista_guard.integrations.openai_api.fields.chat import sift_chunk, sift_completion
from vista_guard.integrations.openai_api.fields.errors import request_error, scrubbed_error
from vista_guard.integrations.openai_api.fields.events import sift_event
from vista_guard.integrations.openai_api.fields.lost import NOTHING_LEFT, is_lost, speaks
from vista_guard.integrations.openai_api.fields.responses import sift_response
from vista_guard.integrations.openai_api.fields.sifting import Place, Sifting, Unjudged

__all__ = [
    "NOTHING_LEFT",
    "Place",
    "Sifting",
    "Unjudged",
    "is_lost",
    "request_error",
    "scrubbed_error",
    "sift_chunk",
    "sift_completion",
    "sift_event",
    "sift_response",
    "speaks",
]
