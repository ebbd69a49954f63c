"""Persona, knowledge and documents in Chroma, in a folder or at a URL. The only room that knows chromadb."""
