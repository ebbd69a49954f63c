"""The wire on both sides: upstream, paths, server-sent events, the OpenAPI page, metrics."""
