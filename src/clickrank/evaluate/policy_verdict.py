"""Verdicts: sentences that say whether a policy is better than the log's own lists."""

from __future__ import annotations

from collections.abc import Sequence

from clickrank.evaluate.estimate import Estimate
from clickrank.evaluate.few_clicks import FEW_CLICKS

#: The first of these that has an estimate decides: those that assume least come first, and each
#: self-normalised estimator comes before the plain one.
_ORDER = (
    "sn-list-ips",
    "list-ips",
    "sn-cascade-dr",
    "cascade-dr",
    "sn-rips",
    "rips",
    "sn-item-position-ips",
    "item-position-ips",
    "sn-pseudo-inverse",
    "pseudo-inverse",
    "sn-position-based-ips",
    "position-based-ips",
    "sn-document-ips",
    "document-ips",
    "direct",
    "replay",
    "bootstrapped-replay",
)
#: If the first is undecided, the first of these that has an estimate is asked. The choice is fixed
#: in advance: taking whichever of ten estimators is decided would be wrong far too often.
_SECOND = ("sn-item-position-ips", "item-position-ips")
#: Estimators that let a policy learn during the log. They estimate another value than that of the
#: policy once it has learned.
_LEARNING = ("replay", "bootstrapped-replay")
#: Differences up to this size are rounding errors, as when the log's own policy is evaluated.
_ROUNDING = 1e-9
_UNDECIDED = "Not distinguishable from today's"


def verdict(
    estimates: dict[str, Estimate], refused: dict[str, str], learned_from: int = 0
) -> tuple[str, ...]:
    """Return sentences on whether the target is better than the log's lists.

    ``learned_from`` is the number of lists that a policy learned from before it was evaluated.
    """
    answers = [(n, estimates[n]) for n in _ORDER if n in estimates]
    answers = [(n, e) for n, e in answers if e.gain_interval is not None]
    if not answers:
        why = next(iter(refused.values()), "no estimator was asked for")
        return (f"The log cannot tell. {why}",)
    name, first = answers[0]
    said = [_sentence(name, first, learned_from)]
    second = next((n for n in _SECOND if n in dict(answers) and n != name), None)
    if _comparison(first) == _UNDECIDED and second is not None:
        opinion = _sentence(second, estimates[second], learned_from)
        said.append(f"A second opinion, which assumes more: {opinion}")
    other = _contradicting(answers)
    if other is not None:
        said.append(
            f"{name} and {other} contradict each other, so the assumption of one of them does not "
            "hold; believe the one that assumes less."
        )
    return tuple(said)


def _sentence(name: str, found: Estimate, learned_from: int) -> str:
    """Return the verdict of one estimator, with its numbers and its assumption."""
    assert found.gain_interval is not None
    low, high = found.gain_interval
    # What the log's own lists earned depends on the impressions that the estimator can use.
    logged = found.value - found.gain
    values = f"{found.value:.4g} per list compared with {logged:.4g}"
    if learned_from and name in _LEARNING:  # the other estimators use the rest of the log
        values += f" over all {found.n:,} lists of the log"
    spread = f"difference {found.gain:+.4g}, between {low:+.4g} and {high:+.4g}"
    level = f"{100 * found.level:g} %"
    return f"{_comparison(found)} by {name}: {values} ({spread} at {level}). {found.assumes}"


def _comparison(found: Estimate) -> str:
    """Return whether the target is better, worse or neither."""
    if found.gain_interval is None or found.with_clicks < FEW_CLICKS:
        return _UNDECIDED
    low, high = found.gain_interval
    if low > _ROUNDING:
        return "Better than today's"
    return "Worse than today's" if high < -_ROUNDING else _UNDECIDED


def _contradicting(answers: Sequence[tuple[str, Estimate]]) -> str | None:
    """Return the first estimator whose interval does not overlap that of the deciding one."""
    _, first = answers[0]
    for other, found in answers[1:]:
        if other in _LEARNING or first.interval is None or found.interval is None:
            continue
        if found.interval.low > first.interval.high or found.interval.high < first.interval.low:
            return other
    return None
