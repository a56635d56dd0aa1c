"""What kernels outside the package may call: the compiler and the selections with random ties."""

from clickrank._jit import kernel
from clickrank._select import kth_largest, match_by_rank, place, prominence, renew_top_k, top_k

__all__ = [
    "kernel",
    "kth_largest",
    "match_by_rank",
    "place",
    "prominence",
    "renew_top_k",
    "top_k",
]
