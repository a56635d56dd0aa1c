"""Rankings: selection of the best items, and distributions over lists."""
