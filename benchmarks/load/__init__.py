"""The proxy under load: many streams at once, every one of them checked word for word."""
