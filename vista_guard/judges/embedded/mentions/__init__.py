"""Statements that evidence only mentions: questions, reports, denials, suppositions, plans, fiction. They support nothing."""
