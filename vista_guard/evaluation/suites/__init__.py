"""The sets that the embedded judge is developed and measured on, and how each is asked."""
