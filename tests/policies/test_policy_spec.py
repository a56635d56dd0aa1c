"""Policies state what they assume of the page."""

from clickrank.clickmodels import PBM
from clickrank.policies import policy


def test_policies_say_which_order_of_positions_they_assume() -> None:
    decreasing = PBM([0.5, 0.4, 0.3], [0.9, 0.9, 0.2])
    first = PBM([0.5, 0.4, 0.3], [0.9, 0.2, 0.5])
    last = PBM([0.5, 0.4, 0.3], [0.2, 0.5, 0.9])
    for name, applies in {
        "toprank": [decreasing],
        "pb-mhb": [decreasing, first, last],
        "grab": [decreasing, first, last],
    }.items():
        spec = policy(name, horizon=10)
        for model in (decreasing, first, last):
            assert (spec.why_not(model) is None) == (model in applies), (name, model.examination)
    paper = policy("pb-mhb", unit_position="first")
    assert [paper.why_not(model) is None for model in (decreasing, first, last)] == [
        True,
        True,
        False,
    ]
    assert paper.assumes.positions == "first"
    assert policy("pb-mhb").assumes.positions == "any"
