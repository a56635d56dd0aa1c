"""How fast clickrank is, measured."""
