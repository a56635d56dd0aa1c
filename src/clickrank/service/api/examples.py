"""Examples of requests and answers for the OpenAPI description; tests send and check them."""

from __future__ import annotations

from clickrank._core.defaults import DEFAULT_POLICY
from clickrank.service.schemas import answers

_AT = 1_790_000_000.0
_ID = "0193a7c2f1d05b6e8d1f2a3b4c5d6e7f"

NEW_RANKER = {"name": "shop-front", "items": ["a", "b", "c", "d"], "n_positions": 3}
CHANGE = {"window": 600, "mode": "live", "log_propensities": True}
NEW_ITEMS = {"items": ["e"], "prior": {"alpha": [2.0], "beta": [18.0]}}
RETIRED_ITEMS = {"items": ["d"]}
RANK = {"id": _ID, "context": "red shoes"}
RANK_BATCH = {"requests": [{"context": "red shoes"}, {}]}
CLICKS = {"clicked": ["b"], "final": True}
CLICK_BATCH = {"clicks": [{"id": _ID, "clicked": ["b"]}]}
NEW_KEY = {"name": "shop-server", "role": "rank"}

RANKER = answers.RankerInfo(
    name="shop-front",
    policy=DEFAULT_POLICY,
    settings={},
    n_items=4,
    n_retired=0,
    n_positions=3,
    window=1800,
    mode="live",
    version=1,
    created=_AT,
    changed=_AT,
    takes_candidates=True,
    takes_priors=True,
)
RANKER_PAGE = answers.RankerPage([RANKER])
ITEM_PAGE = answers.ItemPage([answers.ItemEntry("a", False), answers.ItemEntry("d", True)])
CONTEXT_PAGE = answers.ContextPage([answers.ContextEntry("red shoes", 1200, 1150)])
IMPRESSION = answers.Impression(id=_ID, items=["b", "a", "c"], context="red shoes", version=1)
IMPRESSION_BATCH = answers.ImpressionBatch([IMPRESSION])
FEEDBACK = answers.Feedback(_ID, ["b"], True)
FEEDBACK_BATCH = answers.FeedbackBatch([answers.FeedbackOf(_ID, FEEDBACK)])
REPORT = answers.Report(
    name="shop-front",
    context="red shoes",
    impressions=1200,
    settled=1150,
    clicks=310,
    click_rate=0.26,
    exploration=0.08,
    regret=12.5,
    best=["b", "a", "c"],
    items=[answers.ItemReport("b", False, 1100, 180, 0.17, 0.15, 0.19, 0.99)],
    positions=[answers.PositionReport(1, 1150, 190, 0.165, 1.0)],
)
_BUCKET = answers.Bucket(_AT, 100, 26, 31, 8)
ACTIVITY = answers.Activity(3600, _BUCKET, [_BUCKET])
LOGGED = answers.LoggedImpressions(
    [answers.LoggedImpression(_ID, "red shoes", _AT, ["b", "a", "c"], ["b"], True, False, 1)]
)
POLICIES = answers.Policies(
    [
        answers.PolicyInfo(
            name="pb-mhb",
            summary="Thompson sampling by Metropolis-Hastings.",
            assumes="pbm clicks",
            settings=[answers.Setting("steps", False, 1)],
            takes_candidates=True,
            takes_priors=True,
        )
    ]
)
KEY = answers.Key(1, "shop-server", "rank", _AT, None)
MADE_KEY = answers.MadeKey(1, "shop-server", "rank", _AT, None, "the-secret-shown-once")
KEYS = answers.Keys([KEY])
