"""Retrieval and answer as a LangGraph, guarded as a whole, with a memory. Runs offline: the chat model is a script."""

from typing import Any

from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from vista_guard import Guard

NOTES = [
    Document("The lighthouse was built in 1888 and automated in 1974.", id="history", metadata={"title": "History"}),
    Document("The lighthouse tower is 31 metres high and has 148 steps.", id="tower", metadata={"title": "The tower"}),
]

# Stands in for a chat model; what it says last is in no note.
model = GenericFakeChatModel(
    messages=iter(
        [
            AIMessage("The lighthouse was built in 1888."),
            AIMessage("The tower has 148 steps. It was built in 1920."),
        ]
    )
)


class State(MessagesState, total=False):
    documents: list[Document]


def retrieve(state: State) -> dict[str, Any]:
    words = set(str(state["messages"][-1].content).lower().strip("?").split())
    return {"documents": sorted(NOTES, key=lambda note: -len(words & set(note.page_content.lower().split())))}


def answer(state: State) -> dict[str, Any]:
    notes = "\n".join(note.page_content for note in state["documents"])
    return {"messages": [model.invoke([SystemMessage(f"Answer from these notes:\n{notes}"), *state["messages"]])]}


builder = StateGraph(State)
builder.add_node("retrieve", retrieve)
builder.add_node("answer", answer)
builder.add_edge(START, "retrieve")
builder.add_edge("retrieve", "answer")
builder.add_edge("answer", END)

guard = Guard.from_settings(policy="balanced")
chat: Any = guard.graph(builder.compile(), checkpointer=InMemorySaver())
thread = {"configurable": {"thread_id": "visitor-7"}}

for question in ("When was the lighthouse built?", "What about the tower?"):
    state = chat.invoke({"messages": [{"role": "user", "content": question}]}, thread)
    print(f"user:  {question}\nagent: {state['messages'][-1].content}\n  [{state['report'].decision.action}]")
