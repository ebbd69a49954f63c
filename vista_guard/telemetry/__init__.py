"""Traces, events and metrics of the guard's turns. The only room that knows OpenTelemetry."""
