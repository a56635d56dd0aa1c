"""Ways to compute less that several fast kernels share."""
