"""Items that come and go: what was learned of the others stays, and costs little to go on with."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clickrank as cr
from clickrank._core.arrays import Ints
from clickrank._core.rng import streams
from clickrank.checks.catalogue_checks import check_fewer_items, check_more_items
from clickrank.checks.playing import by_name, rankings_of_run
from clickrank.clickmodels import PBM
from clickrank.fast._shared import logged_pairs
from clickrank.learning import Learner, subset_learner
from clickrank.learning.carry_over import carry
from clickrank.policies import POLICIES, DropsItems, policy
from clickrank.policies._shared.packed_states import unpacked

THETA = np.array([0.95, 0.8, 0.65, 0.5, 0.35, 0.2, 0.1, 0.05])
KAPPA = np.array([1.0, 0.8, 0.6])
LEARNED, AFTER = 20_000, 1_000
#: Policies that compare pairs of items, or items at positions.
NAMES = ["grab", "rba-kl-ucb", "s-grab", "toprank", "unirank"]


def spec(name: str) -> Any:
    return policy(name, model=PBM(THETA, KAPPA), horizon=LEARNED)


def ranker_of(name: str, state: Any, n_items: int) -> cr.Ranker:
    """Return a ranker of the first items that has a policy's state."""
    ranker = cr.Ranker(spec(name), list(range(n_items)), KAPPA.size, seed=5)
    ranker.forget(ranker.rank().id)  # which makes the context
    ranker._contexts[""].learner.state = state
    return ranker


def lost(ranker: cr.Ranker, seed: int) -> float:
    """Return the regret of some rounds that a ranker plays and learns from."""
    users = streams(seed, 0).users
    there = np.array(ranker.items, dtype=np.int64)
    best = float(np.sort(THETA[there])[::-1][: KAPPA.size] @ KAPPA)
    total = 0.0
    for _ in range(AFTER):
        shown = ranker.rank()
        chances = THETA[[int(x) for x in shown.items]] * KAPPA
        total += best - float(chances.sum())
        clicks = users.random(KAPPA.size) < chances
        ranker.update(shown.id, [x for x, c in zip(shown.items, clicks, strict=True) if c])
    return total


@pytest.mark.parametrize("name", NAMES)
def test_one_item_more_or_less_costs_little(name: str) -> None:
    """After 20,000 rounds, one change costs less than a third of what a start from nothing does.

    Another item comes to the first 7, or the least attractive goes; regrets are added up. (If the
    best one goes, the others move to places where they are little known, which must be learned.)
    """
    learner = Learner(spec(name), 7, 3)
    rng = streams(3, 0)
    rankings_of_run(learner, PBM(THETA[:7], KAPPA), LEARNED, rng.policy, rng.users)
    empty = Learner(spec(name), 7, 3).state
    regret = {}
    for start, state in (("kept", learner.state), ("nothing", empty)):
        copies = [type(state)(*(array.copy() for array in state)) for _ in range(2)]
        more, fewer = (ranker_of(name, copied, 7) for copied in copies)
        more.add_items([7])
        fewer.retire_items([6])
        regret[start] = lost(more, 1) + lost(fewer, 2)
    assert regret["kept"] < regret["nothing"] / 3, regret


@pytest.mark.parametrize("name", NAMES)
def test_no_impression_is_folded_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ranker keeps no log for these policies, and a change of items folds nothing."""
    ranker = cr.Ranker(spec(name), list(range(7)), 3, seed=5)
    for _ in range(50):
        shown = ranker.rank()
        ranker.update(shown.id, shown.items[:1])
    folded: list[int] = []
    fold = Learner.update_many

    def counted(self: Learner, rankings: Any, memos: Any, clicks: Any) -> None:
        folded.append(len(rankings))
        fold(self, rankings, memos, clicks)

    monkeypatch.setattr(Learner, "update_many", counted)
    ranker.add_items([7])
    ranker.retire_items([0])
    ranker.rank()
    assert sum(folded) == 0
    assert ranker._logs == {}
    assert ranker._contexts[""].views.sum() == 150


@pytest.mark.parametrize("name", NAMES)
def test_lists_on_their_way_count_for_what_was_shown(name: str) -> None:
    """Whatever the catalogue is when clicks come, pairs and cells are counted by the definition."""
    ranker = cr.Ranker(spec(name), list(range(6)), 3, seed=5)
    rng = np.random.default_rng(0)
    waiting: list[tuple[cr.Shown, Ints]] = []
    wins = np.zeros((8, 8), dtype=np.int64)
    for t in range(400):
        if t == 100:
            ranker.add_items([6, 7])
        if t == 200:
            ranker.retire_items([0, 3])
        shown = ranker.rank(None if t % 3 else [1, 2, 4, 5])
        waiting.append((shown, ranker._pending[t + 1].memo))
        if len(waiting) > 20:
            shown, memo = waiting.pop(0)
            items = [int(x) for x in shown.items]
            clicked = [x for x in items if rng.random() < THETA[x]]
            ranker.update(shown.id, clicked)
            n_then = memo.size // (2 if name == "unirank" else 1)
            block = memo[-n_then:]
            for i in clicked if name in ("toprank", "unirank") else []:
                for j in range(n_then):
                    absent = block[j] == n_then if name == "toprank" else False
                    wins[i, j] += block[i] == block[j] and j not in clicked and not absent
    found = ranker._contexts[""].statistics()
    if name == "unirank":
        assert np.array_equal(found["wins"], wins)
        assert found["times"].sum() == 380
    elif name == "toprank":
        learner = ranker._contexts[""].learner
        assert np.array_equal(unpacked(learner.policy, learner.state).won, wins)
        assert found["beats"].sum() > 0
    elif name == "rba-kl-ucb":
        assert found["clicks"].sum() + found["misses"].sum() == 3 * 380
    else:
        assert np.array_equal(found["clicks"], found["tally.clicks"])
        assert np.array_equal(found["misses"] + found["clicks"], found["tally.views"])
        assert found["times"].sum() == 380


@pytest.mark.parametrize("name", ["toprank", "unirank"])
def test_pairs_are_not_copied_for_each_list(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While items are retired, lists are chosen by a state of the others, which learns too.

    It is made again from the state of all items after clicks on a list with an item that has been
    retired since. It is always what it would be if made again.
    """
    ranker = cr.Ranker(spec(name), list(range(8)), 3, seed=5)
    rng = np.random.default_rng(0)
    copied: list[int] = []

    def counted(*arguments: Any) -> None:
        copied.append(1)
        carry(*arguments)

    def visits(rounds: int) -> None:
        for t in range(rounds):
            shown = ranker.rank(ranker.items[2:6] if t % 50 == 9 else None)
            ranker.update(shown.id, [x for x in shown.items if rng.random() < THETA[int(x)]])

    visits(50)
    late = ranker.rank()
    ranker.retire_items([late.items[0]])
    monkeypatch.setattr(subset_learner, "carry", counted)
    for copies, waiting in ((1, None), (1, late)):
        copied.clear()
        if waiting is not None:
            ranker.update(waiting.id, waiting.items[:1])
        visits(400)
        assert len(copied) == copies + 8  # and once for each list of candidates
        context = ranker._contexts[""]
        subset = context._for_active
        assert subset is not None
        active = subset.learner
        again = context._subset(context._active).carry(context.learner.state).learner
        for field, array in again.statistics().items():
            assert np.array_equal(active.statistics()[field], array), field
        same = [each.rank(np.random.default_rng(1))[0].tolist() for each in (active, again)]
        assert name == "unirank" or same[0] == same[1]


@pytest.mark.parametrize("check", [check_more_items, check_fewer_items])
def test_many_items_without_matrices(check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """TopRank's pairs are the same where a large catalogue did without matrices before a change."""
    monkeypatch.setattr(logged_pairs, "LARGE", 6)
    cls = POLICIES["toprank"]
    assert Learner(spec("toprank"), 6, 3).state.crowd[0] == 1
    check(cls, by_name(cls))


def test_what_is_kept_stays_the_fold_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """When items are retired, nothing changes: `clickrank verify` compares bit for bit."""
    monkeypatch.setattr(logged_pairs, "LARGE", 6)
    ranker = cr.Ranker(spec("toprank"), list(range(20)), 3, seed=5)
    for _ in range(20):
        shown = ranker.rank()
        ranker.update(shown.id, shown.items[:1])
    before = ranker._contexts[""].statistics()
    assert before["crowd"][0] == 1
    ranker.retire_items([2])
    after = ranker._contexts[""].statistics()
    assert before.keys() == after.keys()
    for field, array in before.items():
        assert np.array_equal(array, after[field]), field


def dropping(ranker: cr.Ranker, rounds: int) -> None:
    """Click on the first three items whenever they are shown, and never on another one."""
    for _ in range(rounds):
        shown = ranker.rank()
        ranker.update(shown.id, [x for x in shown.items if int(x) < 3])


@pytest.mark.parametrize("name", ["recurrank", "batchrank"])
def test_items_that_were_dropped_may_leave(name: str, tmp_path: Path) -> None:
    """A ranker goes on as it was; if an item goes that is still shown, it starts again."""
    settings: dict[str, Any] = {"features": np.eye(6), "failure": 1.0}
    if name == "batchrank":
        settings = {"horizon": 2}
    ranker = cr.Ranker(name, list(range(6)), 3, seed=0, **settings)
    dropping(ranker, 600)
    learned = ranker._contexts[""]
    state = learned.learner.state
    assert isinstance(learned.policy, DropsItems)
    assert set(learned.policy.dropped(state).tolist()) == {3, 4, 5}
    before = learned.statistics()
    waiting = ranker.rank()
    ranker.retire_items([4])
    after = ranker._contexts[""].statistics()
    assert before.keys() == after.keys()
    for field, array in before.items():
        assert np.array_equal(array, after[field]), field
    ranker.update(waiting.id, waiting.items)
    views = "views" if name == "recurrank" else "clicks"
    assert ranker._contexts[""].statistics()[views].sum() > before[views].sum()
    # Saved and loaded it is the same: of six items, one of them retired.
    ranker.save(tmp_path / "shop.ranker")
    loaded = cr.Ranker.load(tmp_path / "shop.ranker")
    for _ in range(20):
        shown = ranker.rank()
        assert loaded.rank().items == shown.items
        ranker.forget(shown.id)
    waiting = ranker.rank()
    ranker.retire_items([1])
    began = ranker._contexts[""].statistics()
    assert began["began.with"].tolist() == [0, 2, 3, 5]
    assert began["views"].sum() == 0
    ranker.update(waiting.id, waiting.items)
    assert ranker._contexts[""].statistics()["views"].sum() == 0
    dropping(ranker, 30)
    assert ranker._contexts[""].statistics()["views"].sum() > 0
