"""The classes of a premise with a hypothesis, as verifiers are trained and measured on.

Alone because generated sets, rewriters and training share them.
"""

SUPPORTED_CLASS, CONTRADICTED_CLASS, NOT_ENOUGH_CLASS = 0, 1, 2
UNSUPPORTED = (CONTRADICTED_CLASS, NOT_ENOUGH_CLASS)
