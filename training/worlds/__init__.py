"""Small worlds: documents with a few entities that share attributes, and claims whose labels are known by construction.

Every pair is half of a minimal pair: the same claim over two documents, or two claims of one shape over the same one.
"""

from training.worlds.build import KINDS, build

__all__ = ["KINDS", "build"]
