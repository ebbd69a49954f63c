"""The two APIs, chat and responses: what a request brings and how an answer is read and written."""
