"""Readers of everything that comes in: chat JSON, files, passages, sentences, the persona.

`chat_json` reads messages, `files` and `html` documents, `passages` cuts them, `canonical` undoes disguises of text. They
return the nouns of `vista_guard.types`.
"""
