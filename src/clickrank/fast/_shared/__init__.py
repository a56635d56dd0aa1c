"""Parts that several fast files share, and parts that would make one of them too long."""
