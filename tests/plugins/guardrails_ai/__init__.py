"""The guard as a validator of Guardrails AI."""
