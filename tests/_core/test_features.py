"""Feature vectors as a value, and how models hand them on."""

import pickle

import numpy as np
import pytest

from clickrank._core.features import Features
from clickrank.clickmodels import PBM, Cascade, LinearAttraction
from clickrank.errors import InvalidValue


def test_it_is_a_value() -> None:
    matrix = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    features = Features(matrix)
    assert features.values.base is matrix  # not copied
    assert (features.n_items, features.n_features) == (3, 2)
    other = Features([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    assert features == other
    assert hash(features) == hash(other)
    assert repr(features) == repr(other)
    changed = Features([[1.0, 0.0], [0.5, 0.5], [0.0, 2.0]])
    assert features != changed
    assert repr(features) != repr(changed)
    with pytest.raises(ValueError, match="read-only"):
        features.values[0, 0] = 2.0
    assert pickle.loads(pickle.dumps(features)) == features
    assert features.relabelled(np.array([2, 0, 1])) == Features(matrix[[2, 0, 1]])
    assert Features(features) == features


def test_models_hand_on_the_features_of_their_attraction() -> None:
    attraction = LinearAttraction([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], [0.2, 0.6])
    for model in (PBM(attraction, [1.0, 0.5]), Cascade(attraction, 2)):
        assert model.features == Features(attraction.features)
        again = pickle.loads(pickle.dumps(model))
        assert again.features == model.features
    assert not hasattr(Cascade([0.2, 0.4], 2), "features")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0], "must be a matrix of numbers"),
        ([[1.0], [2.0, 3.0]], "must be a matrix of numbers"),
        ([["a"]], "must be a matrix of numbers"),
        ([[1.0, None]], "numbers, also in row 0, column 1, got None"),
        ([[1.0, 2.0], ["a", 3.0]], "numbers, also in row 1, column 0, got 'a'"),
        ([[1, 10**400]], "must be a matrix of numbers, one row per item, got"),
        ([[]], "must be a matrix of numbers"),
        ([[1.0, 2.0], [np.nan, 1.0]], "the features of item 1 must be finite"),
    ],
)
def test_errors_say_what_is_wrong(values: object, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        Features(values)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="X: features must have 4 rows, one per item, got 3"):
        Features(np.eye(3)).for_items("X", 4)
