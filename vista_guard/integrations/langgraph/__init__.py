"""The guard around one node of a LangGraph of your own."""

from vista_guard.integrations.langgraph.node import guard_node

__all__ = ["guard_node"]
