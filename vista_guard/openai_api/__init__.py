"""OpenAI's two APIs, without the SDK and without a server: what passes of an answer, and what is judged of it."""
