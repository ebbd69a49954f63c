"""Tools that conflict with what the other tests install: each is tried in an environment of its own (`make test-plugins`)."""
