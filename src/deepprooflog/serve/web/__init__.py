"""The session over HTTP: guard, routes, events (needs the extra `serve`)."""
