"""What a context has learned: folded, carried to other items, restored, ranked from candidates."""

import threading
from typing import Any

import numpy as np
import pytest

import clickrank as cr
from clickrank._core.arrays import Ints
from clickrank.errors import InvalidValue
from clickrank.learning import ContextState, candidate_policies, takes_candidates
from clickrank.learning.candidates import can_go_on
from clickrank.policies import POLICIES
from clickrank.policies.capabilities import relabelled
from clickrank.priors import Beta, from_ranking

DCTR = cr.policy("thompson", click_model="dctr")
NO_MEMO = np.zeros((0, 0), dtype=np.int64)


def log(n_items: int, n_positions: int, rounds: int, seed: int = 0) -> tuple[Ints, Ints, Ints]:
    rng = np.random.default_rng(seed)
    shown = np.array([rng.permutation(n_items)[:n_positions] for _ in range(rounds)])
    clicks = (rng.random(shown.shape) < 0.6 / (1 + shown)).astype(np.int64)
    return shown, np.zeros((rounds, 0), dtype=np.int64), clicks


def same(one: ContextState, two: ContextState) -> bool:
    a, b = one.statistics(), two.statistics()
    return a.keys() == b.keys() and all(np.array_equal(a[name], b[name]) for name in a)


def test_many_at_once_are_the_same_as_one_by_one() -> None:
    one, many = (cr.Learner(cr.policy("pb-mhb"), 6, 3) for _ in range(2))
    rounds = log(6, 3, 50)
    for ranking, memo, clicks in zip(*rounds, strict=True):
        one.update(ranking, memo, clicks)
    many.update_many(*rounds)
    many.update_many([], [], [])
    for name, array in one.statistics().items():
        assert np.array_equal(array, many.statistics()[name])


@pytest.mark.parametrize("retired", [[], [2]])
def test_lists_drawn_at_once_are_the_same_as_one_by_one(retired: list[int]) -> None:
    one, many = (
        ContextState(cr.policy("pb-mhb"), 6, 3, retired).fold(*log(6, 3, 50)) for _ in "ab"
    )
    first, second = np.random.default_rng(1), np.random.default_rng(1)
    lists = [one.rank(first)[0].tolist() for _ in range(7)]
    rankings, memos = many.rank_many(second, 3)
    rest, _ = many.rank_many(second, 4)
    assert [*rankings.tolist(), *rest.tolist()] == lists
    assert memos.shape == (3, one.memo_size)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rankings": [[0, 1, 2], [3, 3, 1]]}, r"rankings\[1\] must hold distinct items between"),
        ({"rankings": [[0, 1, 2], [3, 6, 1]]}, r"rankings\[1\] must hold distinct items between"),
        ({"rankings": [[0, 1], [3, 2]]}, "rankings must be rows of 3 whole numbers"),
        ({"rankings": [[0, 1, 2.5]] * 2}, "rankings must be rows of 3 whole numbers"),
        ({"rankings": [[0, 1, 2], [3]]}, "rankings must be rows of 3 whole numbers"),
        ({"clicks": [[0, 0, 1], [0, 2, 0]]}, r"clicks\[1\] must be 0 or 1"),
        ({"clicks": [[0, 0, 1]]}, "clicks must be 2 rows of 3 whole numbers"),
    ],
)
def test_a_fold_is_all_or_nothing(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {
        "rankings": [[0, 1, 2], [3, 4, 5]],
        "memos": NO_MEMO,
        "clicks": [[0, 0, 1]] * 2,
    }
    learned = ContextState(DCTR, 6, 3).fold(**good)
    before = learned.statistics()
    with pytest.raises(InvalidValue, match=message):
        learned.update_many(**{**good, **change})
    for name, array in learned.statistics().items():
        assert np.array_equal(array, before[name])


def test_memos_are_checked() -> None:
    learned = ContextState(cr.policy("grab"), 4, 2, retired=[0])
    ranking, memo = learned.rank(np.random.default_rng(0))
    for wrong in (memo + 10, memo - 10, memo[:1]):
        with pytest.raises(InvalidValue, match="memos"):
            learned.fold([ranking], [wrong], [[0, 1]])
    with pytest.raises(InvalidValue, match="own must hold 1 truth values"):
        learned.fold([ranking], [memo], [[0, 1]], own=[True, False])


def test_a_fold_leaves_what_it_began_with() -> None:
    learned = ContextState(cr.policy("pb-mhb"), 5, 2)
    rng = np.random.default_rng(1)
    for _ in range(5):
        learned.rank(rng)
    before = learned.everything()
    after = learned.fold(*log(5, 2, 30))
    for name, array in learned.everything().items():
        assert np.array_equal(array, before[name]), name
    assert not same(learned, after)
    # The walk goes on where it was.
    assert np.array_equal(after.everything()["attraction"], before["attraction"])
    again = ContextState(cr.policy("pb-mhb"), 5, 2).restored(after.statistics())
    assert same(again, after)
    shown, _, clicks = log(5, 2, 30)
    for item in range(5):
        assert after.views[item].sum() == (shown == item).sum()
        assert after.clicks[item].sum() == clicks[shown == item].sum()


def test_lists_of_others_teach_a_policy_without_memos_only() -> None:
    shown, memos, clicks = log(4, 2, 20)
    strange = np.zeros(20, dtype=bool)
    assert same(
        ContextState(DCTR, 4, 2).fold(shown, memos, clicks, strange),
        ContextState(DCTR, 4, 2).fold(shown, memos, clicks),
    )
    grab = ContextState(cr.policy("grab"), 4, 2)
    after = grab.fold(shown, np.zeros((20, 2), dtype=np.int64), clicks, strange)
    assert after.views.sum() == 40
    assert after.statistics()["clicks"].sum() == 0


def test_what_was_learned_goes_along_with_more_items() -> None:
    prior = Beta([2.0, 3.0, 4.0], [5.0, 5.0, 5.0])
    policy = cr.policies.PBMHB(prior=prior)
    learned = ContextState(policy, 3, 2).fold(*log(3, 2, 40))
    learned.rank(np.random.default_rng(0))
    more = policy.relabelled(np.array([0, 1, 2, -1, -1]), Beta([7.0, 8.0], 1.0))
    assert more.prior == Beta([2.0, 3.0, 4.0, 7.0, 8.0], [5.0, 5.0, 5.0, 1.0, 1.0])
    carried = learned.with_items(more, 5, [1])
    assert carried is not None
    from_the_start = ContextState(more, 5, 2, [1]).fold(*log(3, 2, 40))
    assert same(carried, from_the_start)
    walk, before = carried.everything(), learned.everything()
    assert np.array_equal(walk["attraction"][:3], before["attraction"])
    assert np.array_equal(walk["examination"], before["examination"])
    for seed in range(30):
        ranking, _ = carried.rank(np.random.default_rng(seed))
        assert 1 not in ranking
    # Another prior of old items is another past.
    assert learned.with_items(cr.policy("pb-mhb"), 3) is None
    assert learned.with_items(cr.policy("uniform"), 3) is None
    with pytest.raises(InvalidValue, match="n_items must be 3 or more, got 2"):
        learned.with_items(cr.policy("pb-mhb"), 2)


def test_a_prior_for_all_goes_on_as_one_for_each() -> None:
    learned = ContextState(DCTR, 3, 2).fold(*log(3, 2, 40))
    each = relabelled(DCTR, np.array([0, 1, 2, -1]), Beta(3.0, 9.0))
    carried = learned.with_items(each, 4)
    assert carried is not None
    assert same(carried, ContextState(each, 4, 2).fold(*log(3, 2, 40)))


def test_candidates_of_a_walk_are_the_best_of_the_same_particle() -> None:
    """What is known of positions comes from all items, and a walk of few would forget it."""
    learned = ContextState(cr.policy("pb-mhb"), 6, 3).fold(*log(6, 3, 300))
    rng = np.random.default_rng(2)
    for _ in range(50):
        ranking, _ = learned.rank(rng, [1, 3, 4, 5])
        state = learned.everything()
        theta, kappa = state["attraction"], state["examination"]
        best = sorted([1, 3, 4, 5], key=lambda item: -theta[item])[:3]
        assert [ranking[k] for k in np.argsort(-kappa)] == best


def test_candidates_that_cannot_be() -> None:
    rng = np.random.default_rng(0)
    learned = ContextState(DCTR, 5, 2, retired=[4])
    for candidates, message in (
        ([0], r"at least n_positions \(2\) candidates must be given, got 1"),
        ([], r"candidates must be distinct items"),
        ([0, 0, 1], r"candidates must be distinct items between 0 and 4, got \[0, 0, 1\]"),
        ([0, 5], "candidates must be distinct items between 0 and 4"),
        ([0.5, 1.0], "candidates must be distinct items between 0 and 4"),
        ([0, 1, 4], r"candidates must not be retired, got \[4\]"),
    ):
        with pytest.raises(InvalidValue, match=message):
            learned.rank(rng, candidates)
    with pytest.raises(InvalidValue, match=r"pmed cannot choose from candidates; .* pb-mhb, "):
        ContextState(cr.policy("pmed"), 4, 2).rank(rng, [0, 1, 2])
    with pytest.raises(InvalidValue, match=r"at least n_positions \(2\) items must remain active"):
        ContextState(DCTR, 3, 2, retired=[0, 1])
    with pytest.raises(InvalidValue, match="retired must hold items between 0 and 2"):
        ContextState(DCTR, 3, 2, retired=[3])
    with pytest.raises(InvalidValue, match=r"rng must be a numpy\.random\.Generator, got 3"):
        ContextState(DCTR, 3, 2).rank(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match=r"policy must come from clickrank\.policy"):
        ContextState("uniform", 3, 2)  # type: ignore[arg-type]


def test_statistics_that_do_not_fit() -> None:
    learned = ContextState(DCTR, 3, 2)
    good = learned.statistics()
    with pytest.raises(InvalidValue, match="the statistics must be clicks, misses, tally"):
        learned.restored({"clicks": good["clicks"]})
    with pytest.raises(InvalidValue, match=r"clicks must be int64 of shape \(3,\)"):
        learned.restored({**good, "clicks": np.zeros(4, dtype=np.int64)})


def test_which_policies_take_candidates() -> None:
    assert {"pb-mhb", "thompson", "uniform", "epoch-ucb-w"} <= set(candidate_policies())
    assert takes_candidates(DCTR)
    assert takes_candidates(POLICIES["toprank"])
    assert not takes_candidates(POLICIES["bubblerank"])


def test_ranking_and_folding_at_the_same_time() -> None:
    learned = ContextState(cr.policy("pb-mhb"), 20, 3)
    learned.prepare()
    assert learned.nbytes > 20 * 3 * 8
    rounds = log(20, 3, 200)
    stop = threading.Event()
    lists: list[list[int]] = []

    def rank() -> None:
        rng = np.random.default_rng(0)
        while not stop.is_set() or not lists:
            lists.append(learned.rank(rng)[0].tolist())

    thread = threading.Thread(target=rank)
    thread.start()
    folded = [learned.fold(*rounds) for _ in range(50)]
    stop.set()
    thread.join()
    assert all(same(folded[0], other) for other in folded)
    for other in folded:
        walk = other.everything()  # a whole particle, or none
        if walk["started"][0]:
            theta, kappa = walk["attraction"], walk["examination"]
            assert (theta > 0).all()
            assert (theta < 1).all()
            assert (kappa > 0).all()
            assert kappa.max() == 1.0
    assert all(len(set(shown)) == 3 for shown in lists)


def test_a_ranking_as_prior_is_where_it_starts() -> None:
    order = [4, 2, 0, 5, 1, 3]
    prior = from_ranking(order, weight=200)
    assert np.argsort(-prior.mean).tolist() == order
    for spec in (cr.policy("pb-mhb", prior=prior), cr.policies.ThompsonSampling("dctr", prior)):
        first = [ContextState(spec, 6, 2).rank(np.random.default_rng(i))[0] for i in range(40)]
        assert np.mean([set(ranking.tolist()) == {4, 2} for ranking in first]) > 0.9
    assert from_ranking([1], weight=4, n_items=3) == Beta([3.0, 5.0, 3.0], [3.0, 1.0, 3.0])
    for call, message in (
        (lambda: from_ranking([0, 0]), "ranking must hold distinct items between 0 and 1"),
        (lambda: from_ranking([]), "ranking must have at least one item"),
        (lambda: from_ranking([0, 1], weight=2.5), "weight must be a whole number of at least 1"),
        (lambda: cr.policy("pb-mhb", prior=Beta(0.5, 1.0)), "prior must have whole numbers"),
        (lambda: cr.policy("pb-mhb", prior=3), "prior must be a clickrank.priors.Beta"),
        (lambda: relabelled(cr.policy("grab"), np.arange(2), prior), "new items take no desc"),
    ):
        with pytest.raises(InvalidValue, match=message):
            call()


@pytest.mark.parametrize(
    ("name", "added", "retired", "brought_back"),
    [
        ("toprank", True, True, True),
        ("batchrank", False, True, False),
        ("pmed", False, False, False),
    ],
)
def test_which_policies_go_on(name: str, added: bool, retired: bool, brought_back: bool) -> None:
    policy = POLICIES[name]
    assert can_go_on(policy, True, [1], [1])
    assert can_go_on(policy, False, [1], [1]) is added
    assert can_go_on(policy, True, [1], [1, 2]) is retired
    assert can_go_on(policy, True, [1, 2], [1]) is brought_back
    assert can_go_on(policy, True, [1], [2]) is brought_back
