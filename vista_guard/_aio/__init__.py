"""Sync and async under one roof.

`loop` runs coroutines for sync callers on one background event loop, and long pure-Python work in one thread; `streams`
carries streams between threads, tasks and loops. Nothing here knows of turns or judges.
"""
