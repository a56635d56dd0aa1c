"""How kernels are compiled and where their machine code is kept: all that knows Numba's insides."""
