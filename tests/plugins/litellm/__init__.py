"""The guardrail in LiteLLM's own proxy."""
