"""The guard as middleware of LangChain's `create_agent`: `VistaGuardMiddleware`. Needs the extra `langchain`.

`middleware` has the middleware and reads one model call as an assistant turn.
"""

from vista_guard._extras import how_to_install
from vista_guard.errors import ConfigError

try:
    from vista_guard.integrations.langchain.middleware import VistaGuardMiddleware
except ImportError as exc:
    raise ConfigError(f"the LangChain middleware needs langchain 1.x ({exc}): {how_to_install('langchain')}") from exc

__all__ = ["VistaGuardMiddleware"]
