"""The paper's tables, filled with runs: a function each, from runs to sheets."""
