"""Hypothesis strategies that several tests of numerics share."""

from hypothesis import strategies as st

#: Clicks, misses and examination of some positions.
COUNTS = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 30), st.integers(0, 10**6)),  # clicks
        st.one_of(st.integers(0, 30), st.integers(0, 10**6)),  # misses
        st.one_of(st.just(1.0), st.floats(0.01, 1.0)),  # examination
    ),
    min_size=1,
    max_size=5,
)
