"""Parts that several fast kernels share, and parts of one that would crowd its file."""
