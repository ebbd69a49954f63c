"""The responses API: whole responses and streams of events, judged text by text."""
