"""Pages in a real browser. Playwright keeps a loop running here, so that no test beside them may be async."""
