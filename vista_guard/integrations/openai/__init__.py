"""The official OpenAI client, guarded: the same calls, the same objects, and nothing unjudged in them."""

from vista_guard._extras import how_to_install
from vista_guard.errors import ConfigError

try:
    from vista_guard.integrations.openai.client import guarded, report_of, unjudged_of
except ImportError as exc:
    raise ConfigError(
        f"the guarded OpenAI client needs openai 2.45 to 3.x ({exc}): {how_to_install('openai')}"
    ) from exc

__all__ = ["guarded", "report_of", "unjudged_of"]
