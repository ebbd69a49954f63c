"""The stages as a LangGraph, and wrappers that put a host's agent behind it.

`machine` builds the graph, `wrap` and `wrap_stream` wrap agents, `agent` asks them, `host_objects` reads and writes the host's
messages and documents, `vendor_private` holds all private parts of LangChain and LangGraph.
"""
