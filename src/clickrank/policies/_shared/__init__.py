"""Parts that several policies share, and parts of one policy that would crowd its file."""
