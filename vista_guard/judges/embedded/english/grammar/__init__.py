"""What tells clauses apart: which words are verbs, where a clause's verb stands, and what holds for more than one clause."""
