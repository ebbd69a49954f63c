"""People who annotate: forms, sheets, agreement, consensus, and the paper's tables of it."""
