"""Functions, types and checks for policies and click models outside the package."""

from clickrank._compile.jit import array_kernel, inline_kernel, kernel, lean_kernel
from clickrank._core.arrays import (
    FloatParticle,
    Floats,
    FloatStatistic,
    IntParticle,
    Ints,
    IntStatistic,
    probabilities,
)
from clickrank._core.validate import check_bool, check_choice, check_float, check_int
from clickrank.rankings.request_candidates import candidate, n_candidates
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
    "FloatParticle",
    "FloatStatistic",
    "Floats",
    "IntParticle",
    "IntStatistic",
    "Ints",
    "array_kernel",
    "candidate",
    "check_bool",
    "check_choice",
    "check_float",
    "check_int",
    "copy",
    "inline_kernel",
    "kernel",
    "kth_largest",
    "lean_kernel",
    "match_by_rank",
    "n_candidates",
    "place",
    "probabilities",
    "prominence",
    "renew_top_k",
    "top_k",
]
