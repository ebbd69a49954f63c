"""The guard as middleware of LangChain's `create_agent`: `VistaGuardMiddleware`. Needs the extra `langchain`.

`middleware` is the door, `turn` reads one model call as an assistant turn, `stream` gates a call that streams.
"""

from vista_guard.integrations.langchain.middleware import VistaGuardMiddleware

__all__ = ["VistaGuardMiddleware"]
