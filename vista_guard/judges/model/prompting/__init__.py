"""What a model is asked: prompts as files with a fingerprint, and how they are filled."""
