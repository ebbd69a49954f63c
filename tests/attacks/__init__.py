"""Attacks: each must be withheld, or said to be unchecked, on every surface."""
