"""Traces, events and metrics of the guard's turns. No other room imports OpenTelemetry.

`config` is the one object that a guard shares with its turns, `spans` and `instruments` record through it, `attributes`
has every name, `propagation` carries traces over HTTP, `sdk` sets up exporters, `scores` sends scores to Phoenix and Langfuse.
docs/telemetry.md lists the names.
"""
