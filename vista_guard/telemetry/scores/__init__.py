"""Scores for backends that take no evaluations over OpenTelemetry: sent by a thread of their own, never on a turn's way."""
