"""The stages as a LangGraph, and wrappers that put a host's agent behind it.

`agent` builds the graph, asks agents and has the host's options, `wrap` wraps agents, `host_objects` reads and writes the host's
messages and documents, `vendor_private` holds all private parts of LangChain and LangGraph.
"""
