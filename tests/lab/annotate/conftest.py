"""Databases with reports in them, as the tests of reviews have them."""

from tests.stores.reviews.conftest import postgres, url, write

__all__ = ["postgres", "url", "write"]
