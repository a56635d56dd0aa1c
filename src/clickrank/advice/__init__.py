"""From a log of clicks to a choice: how people click, and which policy would earn most."""
