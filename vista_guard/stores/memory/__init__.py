"""Knowledge and documents in memory, for tests and for those who keep nothing."""
