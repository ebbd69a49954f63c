"""The turn's stages as a LangGraph, and hosts' agents around it."""
