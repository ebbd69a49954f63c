"""One assistant turn on its way, stage by stage. Knows neither LangGraph nor streams."""
