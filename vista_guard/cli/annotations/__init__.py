"""`vista-guard annotations` and `agree`: sheets for annotators, and what they come to."""
