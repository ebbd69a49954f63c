"""The proxy: an OpenAI-compatible endpoint in front of another one, with the guard in between. Needs the extra `proxy`."""
