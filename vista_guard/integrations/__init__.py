"""The guard in other people's frameworks: the OpenAI client, LangChain agents, LangGraph nodes."""
