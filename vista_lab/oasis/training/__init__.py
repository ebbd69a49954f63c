"""Trains an extractor, a retriever or a verifier on a generated set: `vista-guard oasis train` (LLM-OASIS, §5, §6.1)."""
