"""Rankings: how the best items are chosen, and distributions of random lists."""
