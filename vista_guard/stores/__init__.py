"""Where knowledge, documents and reports are kept: Chroma, memory, SQL."""
