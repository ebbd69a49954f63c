"""Conversation: the dialogue as a chat, each claim marked in place, and its evidence beside it."""
