"""Persona, knowledge and documents in Chroma. No other room imports chromadb.

`client` opens a folder or a server, `knowledge` and `documents` are the stores, `engine` is a folder's database in a process of
its own, which `worker` runs. docs/design/stores.md has the measurements behind that process.
"""
