"""The guard around one node of a LangGraph: `guard_node`.

`node` is the door, `turn` reads one run of the node as an assistant turn, `words` hears its models. To guard a whole agent, use
`Guard.wrap` or `Guard.graph`.
"""

from vista_guard.integrations.langgraph.node import guard_node

__all__ = ["guard_node"]
