"""Parts that several policies share, and parts that would make the file of one too long."""
