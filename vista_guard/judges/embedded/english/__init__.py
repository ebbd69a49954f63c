"""How English is taken apart: blocks, sentences, clauses, asides, lists, pronouns, set phrases."""
