"""The guard as a rail of NeMo Guardrails."""
