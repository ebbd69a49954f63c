"""The official OpenAI client, guarded: the same calls, the same objects, and nothing unjudged in them."""

from vista_guard.integrations.openai.client import guarded
from vista_guard.integrations.openai.reports import report_of

__all__ = ["guarded", "report_of"]
