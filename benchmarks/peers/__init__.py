"""The cost of judging a turn with a chat model, here and elsewhere: the same turn at the same scripted server."""
