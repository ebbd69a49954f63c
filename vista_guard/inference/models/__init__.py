"""Running models that users bring, from a folder or from the Hugging Face hub."""
