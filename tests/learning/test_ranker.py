"""A ranker to embed: items that come and go, contexts, clicks that come later, a file."""

import re
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clickrank as cr
from clickrank._core.features import Features
from clickrank.errors import InvalidValue
from clickrank.learning import ranker as module
from clickrank.learning import takes_candidates
from clickrank.policies import POLICIES
from clickrank.policies.capabilities import memos_for
from clickrank.priors import Beta
from tests.paths import DOCS

ATTRACTION = {"a": 0.1, "b": 0.6, "c": 0.2, "d": 0.15, "e": 0.05, "new": 0.9}
EXAMINATION = (1.0, 0.6, 0.3)


def made(policy: str = "pb-mhb", seed: int = 1, **settings: Any) -> cr.Ranker:
    return cr.Ranker(policy, ["a", "b", "c", "d", "e"], 3, seed, **settings)


def visit(ranker: cr.Ranker, rounds: int, users: np.random.Generator, **asked: Any) -> Counter[Any]:
    """Show lists and click on them; return how often each item came first."""
    first: Counter[Any] = Counter()
    for _ in range(rounds):
        shown = ranker.rank(**asked)
        first[shown.items[0]] += 1
        chances = zip(shown.items, EXAMINATION, strict=True)
        clicked = [x for x, seen in chances if users.random() < ATTRACTION[str(x)] * seen]
        ranker.update(shown.id, clicked)
    return first


def test_it_learns_and_so_do_new_items() -> None:
    ranker, users = made(), np.random.default_rng(0)
    visit(ranker, 600, users)
    assert visit(ranker, 200, users)["b"] > 150
    ranker.add_items(["new"])
    visit(ranker, 600, users)
    assert visit(ranker, 200, users)["new"] > 150
    ranker.retire_items(["new", "e"])
    assert ranker.items == ("a", "b", "c", "d")
    assert ranker.retired == ("e", "new")
    after = visit(ranker, 200, users)
    assert after["b"] > 150
    assert after["new"] == after["e"] == 0
    ranker.add_items(["new"])  # with its history
    assert visit(ranker, 50, users)["new"] > 35
    assert repr(ranker) == "Ranker('pb-mhb', 5 items, 1 retired, 3 positions, 1 context, 0 pending)"


def test_contexts_learn_for_themselves() -> None:
    ranker, users = made("thompson", click_model="dctr"), np.random.default_rng(0)
    visit(ranker, 300, users, context="shoes")
    assert list(ranker.contexts) == ["shoes"]
    shown = ranker.rank(context="hats")
    assert shown.context == "hats"
    assert list(ranker.contexts) == ["shoes", "hats"]
    assert ranker._contexts["hats"].views.sum() == 0
    assert ranker._contexts["shoes"].views.sum() == 900


def test_candidates() -> None:
    ranker = made()
    for _ in range(20):
        shown = ranker.rank(candidates=["e", "a", "c", "d"])
        assert set(shown.items) <= {"a", "c", "d", "e"}
    with pytest.raises(
        InvalidValue, match="candidates must be among the items of the ranker, got 'x'"
    ):
        ranker.rank(candidates=["a", "b", "c", "x"])
    with pytest.raises(InvalidValue, match=r"at least n_positions \(3\) candidates"):
        ranker.rank(candidates=["a", "b"])
    with pytest.raises(InvalidValue, match="bubblerank cannot choose from candidates; those"):
        made("bubblerank", horizon=100).rank(candidates=["a", "b", "c"])
    with pytest.raises(InvalidValue, match="candidates must be distinct, got 'c'"):
        ranker.rank(candidates=["a", "b", "c", "c"])


def test_candidates_that_are_retired_are_named_by_the_callers_ids() -> None:
    ranker = made()
    ranker.retire_items(["c"])
    for call in (ranker.rank, ranker.propensities):
        with pytest.raises(
            InvalidValue, match=r"Ranker: candidates must not be retired, got \['c'\]"
        ):
            call(candidates=["a", "b", "c", "d"])


def test_a_double_click_counts_once() -> None:
    once, twice = made(), made()
    for ranker, times in ((once, 1), (twice, 2)):
        shown = ranker.rank()
        ranker.update(shown.id, [shown.items[0]] * times + [shown.items[1]])
    first, second = once._contexts[""].everything(), twice._contexts[""].everything()
    assert first["clicks"].sum() == 2
    assert all(np.array_equal(array, second[name]) for name, array in first.items())


def test_clicks_that_cannot_be_change_nothing() -> None:
    ranker = made()
    shown = ranker.rank()
    done = ranker.rank()
    ranker.update(done.id)
    missing = next(x for x in "abcde" if x not in shown.items)
    before = ranker._contexts[""].everything()
    for call, message in (
        (lambda: ranker.update(shown.id, [missing]), "clicked must be among the items shown"),
        (lambda: ranker.update(shown.id, "a"), "clicked must be a sequence of ids, .* got 'a'"),
        (lambda: ranker.update(shown.id, [1.5]), "clicked must be a sequence of ids"),  # type: ignore[list-item]
        (lambda: ranker.update("x-1"), "a list that waits for feedback, got 'x-1'"),
        (lambda: ranker.update(shown.id + "0"), "id must be the id of a list that waits"),
        (lambda: ranker.update(7), "id must be the id of a shown list, as in shown.id, got 7"),  # type: ignore[arg-type]
        (lambda: ranker.update(shown), "the id of a shown list, as in shown.id, got Shown"),  # type: ignore[arg-type]
        (lambda: ranker.forget(shown), "the id of a shown list, as in shown.id, got Shown"),  # type: ignore[arg-type]
        (
            lambda: ranker.update(shown.id, dict.fromkeys(shown.items, 0)),
            "clicked must be a sequence of item ids, got {.*}. Pass only the ids that were clicked",
        ),
        (lambda: ranker.update(done.id), "never shown, already updated, or dropped"),
        (lambda: ranker.rank(context=3), "context must be text, got 3"),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidValue, match=message):
            call()
    for name, array in ranker._contexts[""].everything().items():
        assert np.array_equal(array, before[name])
    assert ranker.pending == 1
    ranker.update(shown.id, [shown.items[2]])
    assert ranker.pending == 0


def test_the_oldest_lists_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PENDING", 10)
    ranker = made("uniform")
    shown = [ranker.rank() for _ in range(11)]
    assert ranker.pending == 10
    with pytest.raises(InvalidValue, match="already updated, or dropped"):
        ranker.update(shown[0].id)
    ranker.update(shown[1].id)


BAD: list[tuple[Any, str]] = [
    (lambda: cr.Ranker("uniform", "abc", 2), "items must be a sequence of distinct ids"),
    (lambda: cr.Ranker("uniform", ["a", "a"], 1), "items must be distinct, got 'a'"),
    (lambda: cr.Ranker("uniform", [], 1), "items must be a sequence of distinct ids"),
    (lambda: cr.Ranker("uniform", [1.5, 2], 1), "items must be a sequence of distinct ids"),  # type: ignore[list-item]
    (lambda: cr.Ranker("uniform", ["a"], 2), "Ranker: n_positions must be between 1 and n_items"),
    (lambda: cr.Ranker("uniform", ["a"], 1, seed=-1), "Ranker: seed must be a whole number"),
    (
        lambda: cr.Ranker(cr.policy("uniform"), ["a"], 1, steps=2),
        r"settings must be left out, because the policy already has its own, got \['steps'\]",
    ),
    (
        lambda: cr.Ranker("pb-mhb", ["a", "b"], 1, prior=Beta([1, 2, 3], 1)),
        "PBMHB: prior must have 2 items, or hold for all, got 3",
    ),
    (lambda: made().add_items(["f", "a"]), "items must not be in the catalogue already, got 'a'"),
    (lambda: made().add_items(["f", "f"]), "items must be distinct, got 'f'"),
    (lambda: made().add_items(["f"], prior=3), "prior must be a clickrank.priors.Beta, got 3"),  # type: ignore[arg-type]
    (lambda: made().add_items(["f"], prior=Beta([1, 2], 1)), "prior must have 1 items"),
    (lambda: made().add_items(["f"], prior=Beta(0.5, 1)), "prior must have whole numbers"),
    (
        lambda: made("uniform").add_items(["f"], prior=Beta()),
        "uniform takes no prior; those that do are bayes-ucb, greedy, pb-mhb, thompson",
    ),
    (
        lambda: made().add_items(["f"], features=[[1.0]]),
        "pb-mhb takes no features; those that do are cascade-lin-ts, cascade-lin-ucb, recurrank",
    ),
    (lambda: made().retire_items(["x"]), "items must be among the items of the ranker, got 'x'"),
    (lambda: made().retire_items(["a", "b", "c"]), "items must remain active, got 2"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        call()


def test_a_change_that_cannot_be_changes_nothing() -> None:
    ranker, users = made(), np.random.default_rng(0)
    visit(ranker, 20, users)
    before = ranker._contexts[""].everything()
    with pytest.raises(InvalidValue):
        ranker.retire_items(["a", "b", "c"])
    with pytest.raises(InvalidValue):
        ranker.add_items(["f"], prior=Beta(0.5, 1.0))
    ranker.retire_items(["a"])
    with pytest.raises(InvalidValue, match=r"items must not be retired already, got \['a'\]"):
        ranker.retire_items(["a"])
    assert ranker.items == ("b", "c", "d", "e")
    for name, array in ranker._contexts[""].statistics().items():
        assert np.array_equal(array, before[name])


def test_items_with_features_and_priors() -> None:
    linear = cr.Ranker("cascade-lin-ts", [1, 2, 3], 2, features=np.eye(3))
    with pytest.raises(InvalidValue, match="the features of new items must be given"):
        linear.add_items([4])
    linear.add_items([4], features=[[0.5, 0.5, 0.0]])
    linear.retire_items([2])
    linear.add_items([2, 5], features=[[9.0, 9.0, 9.0], [0.0, 0.0, 0.5]])  # 2 has its own
    rows = [*np.eye(3).tolist(), [0.5, 0.5, 0.0], [0.0, 0.0, 0.5]]
    assert linear.policy.features == Features(rows)  # type: ignore[attr-defined]
    fixed = cr.Ranker("ensemble", ["a", "b"], 1, scores=[0.2, 0.4])
    with pytest.raises(InvalidValue, match="scores of the 1 new items must be given"):
        fixed.add_items(["c"])
    fixed.add_items(["c"], scores=[0.9])
    assert fixed.policy.scores == (0.2, 0.4, 0.9)  # type: ignore[attr-defined]
    ranker = cr.Ranker("pb-mhb", ["a", "b"], 1, prior=Beta([2, 3], [4, 5]))
    ranker.add_items(["c", "d"], prior=Beta([9, 8], 1))
    ranker.add_items(["e"])
    want = Beta([2, 3, 9, 8, 1], [4, 5, 1, 1, 1])
    assert ranker.policy.prior == want  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["pb-mhb", "uniform", "grab"])
def test_saved_and_loaded_it_goes_on_as_if_nothing_had_happened(name: str, tmp_path: Path) -> None:
    ranker, users = made(name), np.random.default_rng(3)
    visit(ranker, 30, users, context="ü")
    if name == "pb-mhb":
        ranker.add_items([7], prior=Beta(3, 4))
    else:
        ranker.add_items([7])
    ranker.retire_items(["a"])
    waiting = [ranker.rank(context=c) for c in ("", "ü") * 3]
    path = tmp_path / "shop.ranker"
    ranker.save(path)
    ranker.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["shop.ranker"]
    other = cr.Ranker.load(path)
    assert repr(other) == repr(ranker)
    assert (other.items, other.retired, other.contexts) == (
        ranker.items, ranker.retired, ranker.contexts,
    )  # fmt: skip
    for one in (ranker, other):
        for shown in waiting[::2]:
            one.update(shown.id, [shown.items[1]])
        one.add_items(["a"])
    for _ in range(20):
        shown = ranker.rank(context="ü")
        assert other.rank(context="ü") == shown
        for one in (ranker, other):
            one.update(shown.id, [shown.items[0]])
    for context in ("", "ü"):
        theirs = other._contexts[context].everything()
        for key, array in ranker._contexts[context].everything().items():
            assert np.array_equal(array, theirs[key]), key


def test_a_policy_that_needs_a_click_model_says_which_and_where() -> None:
    with pytest.raises(InvalidValue, match="click_model must be given") as raised:
        cr.Ranker("thompson", ["a", "b"], 1)
    hint = str(raised.value)
    assert "'dctr', 'cascade', 'dcm' or 'pbm'" in hint
    advised = "clickrank.Ranker('thompson', items, n_positions, click_model='dctr')"
    assert advised in hint
    values: dict[str, Any] = {"clickrank": cr, "items": ["a", "b"], "n_positions": 1}
    assert eval(advised, values).items == ("a", "b")  # the advice works as it is written


def test_what_is_no_policy_is_refused_in_words_of_the_ranker() -> None:
    with pytest.raises(InvalidValue, match="Ranker: policy must be a policy or the name of one"):
        cr.Ranker(["a", "b"], "thompson", 1)  # type: ignore[arg-type]


def test_a_missing_folder_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "ranker.npz"
    made("uniform").save(path)
    assert cr.Ranker.load(path).items == made("uniform").items
    with pytest.raises(NotADirectoryError, match=r"ranker\.npz"):
        made("uniform").save(path / "other.npz")


def test_a_policy_that_starts_anew_learns_from_what_still_counts() -> None:
    """PMED folds its log again, over items that are left; of others nothing is lost for good."""
    ranker, users = made("pmed"), np.random.default_rng(0)
    visit(ranker, 80, users)
    learned = ranker._contexts[""].statistics()
    ranker.retire_items(["c"])
    without = ranker._contexts[""].statistics()
    assert 0 < without["clicks"].sum() < learned["clicks"].sum()
    assert without["clicks"].shape == (4, 3)
    assert np.array_equal(without["tally.views"], learned["tally.views"])
    waiting = ranker.rank()
    ranker.add_items(["c"])
    again = ranker._contexts[""].statistics()
    for name, array in learned.items():
        assert np.array_equal(array, again[name]), name
    ranker.update(waiting.id, [waiting.items[0]])
    assert ranker._contexts[""].statistics()["clicks"].sum() == learned["clicks"].sum() + 1


def test_memos_of_another_catalogue_are_not_learned_from() -> None:
    """BatchRank's stages are those of the items that it began with."""
    ranker, users = made("batchrank", horizon=1000), np.random.default_rng(0)
    visit(ranker, 50, users)
    waiting = ranker.rank()
    ranker.add_items(["new"])
    assert ranker._contexts[""].statistics()["views"].sum() == 0
    assert ranker._contexts[""].views.sum() == 150
    ranker.update(waiting.id, [waiting.items[0]])
    assert ranker._contexts[""].statistics()["views"].sum() == 0
    assert ranker._contexts[""].views.sum() == 153
    visit(ranker, 5, users)
    assert ranker._contexts[""].statistics()["views"].sum() > 0


def test_from_several_threads() -> None:
    ranker = made("uniform")

    def work(seed: int) -> None:
        visit(ranker, 100, np.random.default_rng(seed))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ranker._contexts[""].views.sum() == 1200
    assert ranker.pending == 0


def page(name: str) -> str:
    return (DOCS / "howto" / name).read_text()


def run(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        exec(block, names)
    return names


def test_page_on_embedding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = run(page("embed.md"))
    visitor = names["app"].test_client()
    shown = visitor.get("/").json
    assert len(shown["items"]) == 3
    answer = {"id": shown["id"], "clicked": shown["items"][:1]}
    assert visitor.post("/clicks", json=answer).status_code == 200
    assert visitor.post("/clicks", json=answer).status_code == 400
    fields: list[Any] = [{"clicked": []}, {"id": shown["id"]}, {"id": [], "clicked": 1}]
    for wrong in [[], {}, "a", *fields]:
        assert visitor.post("/clicks", json=wrong).status_code == 400, wrong
    assert visitor.post("/clicks", data="{", content_type="application/json").status_code == 400
    assert visitor.post("/clicks", data="id=1").status_code == 415
    assert repr(cr.Ranker.load("shop.ranker")) == repr(names["ranker"])


def test_page_on_changing_items_says_what_each_policy_does() -> None:
    text = page("changing-items.md")
    run(text)
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| `")]
    listed: dict[str, tuple[str, str, str]] = {}
    for names, change, candidates, flying in rows:
        for name in re.findall(r"`([\w-]+)`", names):
            assert name not in listed, name
            listed[name] = (change.strip(), candidates.strip(), flying.strip())
    own = {n for n, c in POLICIES.items() if c.__module__.startswith("clickrank.")}
    assert set(listed) == own
    for name, (change, candidates, flying) in listed.items():
        assert candidates.startswith("yes") == takes_candidates(POLICIES[name]), name
        if name in ("oracle", "uniform", "greedy", "ensemble"):
            continue
        # A memo that travels is what lists on their way count by.
        none = np.zeros((0, 6), dtype=np.int64)
        spec = object.__new__(POLICIES[name])
        size = 0 if name == "pmed" else 6
        travels = memos_for(spec, none[:, :size], np.arange(3), 3) is not None
        assert flying.startswith("count") == travels, name
        assert change.startswith("starts again") == (not travels), name


def test_the_best_item_goes_where_people_look() -> None:
    """The default policy need not know that the last position of this page is looked at most."""
    ranker = made(seed=3)
    rng = np.random.default_rng(0)
    attraction, examination = (
        dict(zip("abcde", (0.8, 0.5, 0.3, 0.2, 0.1), strict=True)),
        (0.1, 0.4, 1),
    )
    best = 0
    for t in range(1500):
        shown = ranker.rank()
        seen = zip(shown.items, examination, strict=True)
        clicked = [item for item, looked in seen if rng.random() < attraction[str(item)] * looked]
        ranker.update(shown.id, clicked)
        best += t >= 1000 and list(shown.items) == ["c", "b", "a"]
    assert best > 400


def test_an_id_with_very_many_digits_is_refused_like_others() -> None:
    ranker = made("uniform")
    salt = ranker.rank().id.partition("-")[0]
    with pytest.raises(InvalidValue, match="id must be the id of a list that waits for feedback"):
        ranker.update(f"{salt}-{'9' * 5000}", [])
