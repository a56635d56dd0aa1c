"""What kernels outside the package may call: the compiler and the selections with random ties."""

from clickrank._compile.jit import array_kernel, inline_kernel, kernel, lean_kernel
from clickrank.rankings.candidates import candidate, n_candidates
from clickrank.rankings.selection import (
    copy,
    kth_largest,
    match_by_rank,
    place,
    prominence,
    renew_top_k,
    top_k,
)

__all__ = [
    "array_kernel",
    "candidate",
    "copy",
    "inline_kernel",
    "kernel",
    "kth_largest",
    "lean_kernel",
    "match_by_rank",
    "n_candidates",
    "place",
    "prominence",
    "renew_top_k",
    "top_k",
]
