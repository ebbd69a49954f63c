"""Log formats, a module each, and what turns traces of many rows into conversations."""
