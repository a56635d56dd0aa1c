"""Compilation: decorators for kernels, the disk cache of machine code, and Numba's internals."""
