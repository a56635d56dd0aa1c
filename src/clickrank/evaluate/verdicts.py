"""What estimates say together, in words."""

from __future__ import annotations

from collections.abc import Sequence

from clickrank.evaluate.few_clicks import FEW_CLICKS
from clickrank.evaluate.result import Estimate

#: Which decides, of those that have an answer: least assumed first; weights that are normalised
#: before those that are not.
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
#: Asked if the first is undecided, the first of these that answers. It is fixed beforehand: the one
#: of ten that happens to be decided would be wrong far more often than it says.
_SECOND = ("sn-item-position-ips", "item-position-ips")
#: Those that let a policy learn on its way, which is another value than that of what it learned.
_ON_THE_WAY = ("replay", "bootstrapped-replay")


def verdict(
    estimates: dict[str, Estimate], refused: dict[str, str], logged: float
) -> tuple[str, ...]:
    """Say in words whether the target is better than what the log shows."""
    answers = [(n, estimates[n]) for n in _ORDER if n in estimates]
    answers = [(n, e) for n, e in answers if e.gain_interval is not None]
    if not answers:
        why = next(iter(refused.values()), "no estimator was asked for")
        return (f"The log cannot tell. {why}",)
    name, first = answers[0]
    said = [_sentence(name, first, logged)]
    second = next((n for n in _SECOND if n in dict(answers) and n != name), None)
    if not _decided(first) and second is not None:
        opinion = _sentence(second, estimates[second], logged)
        said.append(f"A second opinion, with more assumed: {opinion}")
    apart = _contradiction(answers)
    if apart is not None:
        said.append(
            f"{apart[0]} and {apart[1]} contradict each other, so that what one of them assumes "
            "does not hold; believe the one that assumes less."
        )
    return tuple(said)


def _decided(found: Estimate) -> bool:
    return _how(found) != _UNTOLD


def _sentence(name: str, found: Estimate, logged: float) -> str:
    assert found.gain_interval is not None
    low, high = found.gain_interval
    beside = f"{found.value:.4g} a list beside {logged:.4g}"
    spread = f"difference {found.gain:+.4g}, between {low:+.4g} and {high:+.4g}"
    return f"{_how(found)} by {name}: {beside} ({spread} at {found.level:.0%}). {found.assumes}"


def _how(found: Estimate) -> str:
    """Say better or worse only beyond rounding: the log's own list is neither."""
    if found.gain_interval is None or found.with_clicks < FEW_CLICKS:
        return _UNTOLD
    low, high = found.gain_interval
    if low > _ROUNDING:
        return "Better than today's"
    return "Worse than today's" if high < -_ROUNDING else _UNTOLD


_UNTOLD = "Not told from today's"
_ROUNDING = 1e-9


def _contradiction(answers: Sequence[tuple[str, Estimate]]) -> tuple[str, str] | None:
    """Return two estimators whose intervals are apart, if any: the first one and another."""
    name, first = answers[0]
    for other, found in answers[1:]:
        if other in _ON_THE_WAY or first.interval is None or found.interval is None:
            continue
        if found.interval.low > first.interval.high or found.interval.high < first.interval.low:
            return name, other
    return None
