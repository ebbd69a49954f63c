"""Policy lab: two policies over the same stored turns, and the lines that put one of them into force."""
