"""Parts that several policies share, by the names that textbooks give them."""
