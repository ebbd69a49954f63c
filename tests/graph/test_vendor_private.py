"""The installed LangChain and LangGraph still have each private part that `graph.vendor_private` stands on."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.runnables.config import ensure_config
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from vista_guard import Guard, InputError
from vista_guard.graph import vendor_private
from vista_guard.graph.agent import GuardState
from vista_guard.testing import ScriptedJudge

VERSIONS = f"langchain-core {version('langchain-core')}, langgraph {version('langgraph')}"

PARTS = {
    "langchain_core.tracers._streaming": ("_StreamingCallbackHandler",),
    "langchain_core.tracers.base": ("BaseTracer",),
    "langchain_core.tracers.langchain": ("LangChainTracer.copy_with_metadata_defaults",),
    "langchain_core.runnables.config": ("set_config_context", "var_child_runnable_config.set"),
    "langchain_core.runnables": (
        "Runnable._call_with_config",
        "Runnable._acall_with_config",
        "Runnable._transform_stream_with_config",
        "Runnable._atransform_stream_with_config",
    ),
    "langgraph.pregel._messages": ("StreamMessagesHandler",),
}


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in PARTS.items() for name in names])
def test_private_part_exists(module: str, name: str) -> None:
    part: Any = import_module(module)
    for step in name.split("."):
        assert hasattr(part, step), f"{VERSIONS}: {module} lost {name}; mend vista_guard/graph/vendor_private.py"
        part = getattr(part, step)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("CONFIG_KEY_STREAM", vendor_private.STREAM_KEY),
        ("CONFIG_KEY_DURABILITY", vendor_private.DURABILITY_KEY),
    ],
)
def test_configuration_keys_are_the_same(name: str, key: str) -> None:
    constants = import_module("langgraph._internal._constants")
    assert getattr(constants, name, None) == key, f"{VERSIONS}: {name} is no longer {key!r}"


def test_handler_of_messages_is_a_stream_handler() -> None:
    handler = import_module("langgraph.pregel._messages").StreamMessagesHandler
    assert vendor_private.StreamHandler in handler.__mro__, f"{VERSIONS}: tokens reach the host by another handler"


def test_host_key_stays_out_of_metadata() -> None:
    config = ensure_config({"configurable": {vendor_private.HOST_KEY: "callbacks", "seen": "yes"}})
    assert vendor_private.HOST_KEY not in config["metadata"], f"{VERSIONS}: such keys are copied into metadata"


def test_a_graph_is_made_of_its_attributes() -> None:
    builder = StateGraph(GuardState)
    builder.add_node("node", lambda state: state)
    builder.add_edge(START, "node")
    graph = builder.compile(name="host")
    copy = vendor_private.untraced(graph)
    assert (type(copy), copy.name, copy.nodes) == (vendor_private.UntracedGraph, "host", graph.nodes), VERSIONS


def _talking_graph() -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("agent", lambda _: {"messages": [AIMessage("It opened in 1925.")]})
    builder.add_edge(START, "agent")
    return builder.compile()


ASKED = {"messages": [("user", "When did it open?")]}


async def test_a_handler_hears_of_a_guarded_graph_once(caplog: pytest.LogCaptureFixture) -> None:
    graph = Guard(ScriptedJudge({})).graph(_talking_graph())
    events = [event async for event in graph.astream_events(ASKED, version="v2")]
    runs = [
        (event["event"], event["run_id"]) for event in events if event["event"] in ("on_chain_start", "on_chain_end")
    ]
    assert len(runs) == len(set(runs))
    assert "Error in" not in caplog.text


def test_a_checkpointer_without_a_thread_says_what_it_needs() -> None:
    graph = Guard(ScriptedJudge({})).graph(_talking_graph(), checkpointer=InMemorySaver())
    with pytest.raises(InputError):
        graph.invoke(ASKED)
    assert graph.invoke(ASKED, {"configurable": {"thread_id": "1"}})["messages"][-1].content == "It opened in 1925."
