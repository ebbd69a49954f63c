"""The way of a turn as a LangGraph state machine: one file a stage, `build.py` wires them."""
