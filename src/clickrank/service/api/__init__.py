"""The HTTP API: checks requests, passes them to the engine, and sends its answers."""
