"""What evidence only mentions: questions, reports, denials, suppositions, plans, fiction. Such a statement supports nothing."""
