"""What judging a turn costs with a chat model, here and elsewhere: the same turn at the same scripted server."""
