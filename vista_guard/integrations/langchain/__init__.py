"""The guard as middleware of LangChain's `create_agent`. Needs the extra `langchain`."""

from vista_guard.integrations.langchain.middleware import VistaGuardMiddleware

__all__ = ["VistaGuardMiddleware"]
