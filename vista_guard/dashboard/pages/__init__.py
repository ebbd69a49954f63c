"""The pages, a folder each; `registry` has them all."""
