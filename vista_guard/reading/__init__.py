"""What comes in from outside: chat JSON, files and their formats, passages, sentences, the persona."""
