"""The challenge: minimal pairs of claims over documents, written by hand; half for development, half sealed."""
