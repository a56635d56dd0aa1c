"""Errors over HTTP show JSON: no Python literals, quotes, types or classes in their messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from clickrank.errors import invalid, unknown
from clickrank.service.api import examples as e
from clickrank.service.api.application import make_app
from clickrank.service.runtime import definitions
from clickrank.service.runtime.available_policies import policy_infos
from clickrank.service.schemas import answers, requests
from tests.service.fake_engine import Client, FakeEngine
from tests.service.python_words import python_words

POLICIES = policy_infos()
#: Values for required settings, in the order of the policies' parameters.
VALID = {
    "horizon": 100,
    "click_model": "pbm",
    "examination": [1.0, 0.5],
    "satisfaction": [0.5, 0.5],
    "position_bias": [1.0, 0.5],
    "features": [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]],
    "scores": [0.1, 0.2, 0.3],
    "best_ranking": [0, 1],
}
#: JSON of values of which most settings refuse most.
WRONG = [
    '"x"', "null", "true", "-1", "0", "1.5", "1e300", "[]", "{}", '[1, "a"]', "[[1, 2], [3]]",
    '{"a": 1}', "[null]", '["a", "b", "c"]', '"0.5"', "[-1.0, 2.0, 3.0]", "[0.5]", '"it\'s"',
]  # fmt: skip


class DefiningEngine(FakeEngine):
    """Checks new rankers as the engine does, but compiles no policies."""

    async def create(self, new: requests.NewRanker) -> tuple[answers.RankerInfo, bool]:
        definitions.define(new)
        return e.RANKER, True

    async def ranker(self, name: str) -> answers.RankerInfo:
        if name == "unknown":
            raise unknown("policy", "grap", ["grab"])
        raise invalid("PBMUCB", "epsilon must be True, False or 'auto'", (None, True, "it's"))


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    async def opened() -> Any:
        return DefiningEngine()

    with Client(make_app(opened)) as opened_client:
        yield opened_client


def post(client: Client, path: str, text: str) -> Any:
    content = {"content": text.encode(), "headers": {"content-type": "application/json"}}
    return client.post(path, **content)


def new_ranker(policy: str, settings: str, **more: object) -> str:
    fields = {"name": "shop", "items": ["a", "b", "c"], "n_positions": 2, "policy": policy, **more}
    return f'{json.dumps(fields)[:-1]}, "settings": {settings}}}'


def message(answer: Any) -> str:
    """Return the message of an error, after checking that it contains no Python."""
    assert 400 <= answer.status_code < 500, answer.text
    text: str = answer.json()["error"]["message"]
    assert python_words(text) == [], text
    return text


def test_python_is_found() -> None:
    """The check is able to fail."""
    for text in (
        "PBMUCB: epsilon must be 0",
        "horizon must be given, got None.",
        "give it as allow_mismatch=True",
        "unknown item 'a'.",
        "Expected `str`, got `int`",
        "unhashable type: list",
        "prior must be a clickrank.priors.Beta",
        "got <object object at 0x7f>",
        "got array([1, 2])",
    ):
        assert python_words(text), text
    for text in ('n_items must be 3, got "it\'s".', "the page's list is unknown", "`$.a` is null"):
        assert not python_words(text), text


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_settings_of_every_policy(client: Client, policy: answers.PolicyInfo) -> None:
    required = {one.name: VALID.get(one.name, 1) for one in policy.settings if one.required}
    refused = 0
    for settings in ("{}", '{"nonsense": 1}', '{"prior": {}}'):
        answer = post(client, "/v1/rankers", new_ranker(policy.name, settings))
        if answer.status_code != 200 and answer.status_code != 201:
            message(answer)
    for setting in policy.settings:
        others = {name: value for name, value in required.items() if name != setting.name}
        for value in WRONG:
            settings = (
                f'{json.dumps(others)[:-1]}{", " if others else ""}"{setting.name}": {value}}}'
            )
            answer = post(client, "/v1/rankers", new_ranker(policy.name, settings))
            if answer.status_code not in (200, 201):
                refused += 1
                message(answer)
    assert refused >= 10 * len(policy.settings) // 2


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"policy": "grap"}, 'Unknown policy "grap". Did you mean "grab"?'),
        ({"policy": "PB-MHB"}, 'Unknown policy "PB-MHB". Did you mean "pb-mhb"?'),
        ({"n_positions": 4}, "shop: n_positions must be between 1 and"),
        ({"items": ["a", "a"], "n_positions": 1}, 'shop: items must be distinct, got "a".'),
        (
            {"start": {"ranking": ["zebra"]}},
            'start.ranking must be among the items of the ranker, got "zebra".',
        ),
        (
            {"prior": {"alpha": [1], "beta": [1]}},
            "prior.alpha must have one number per item (3), got 1.",
        ),
        ({"mode": "off"}, 'Body: mode must be "live" or "shadow", got "off".'),
        ({"n_positions": "3"}, "Body: expected `integer`, got `string` at `$.n_positions`."),
        ({"items": "a"}, "Body: expected `array`, got `string` at `$.items`."),
        ({"prior": 1}, "Body: expected an object or null, got `integer` at `$.prior`."),
        ({"log_propensities": 1}, "expected `boolean`, got `integer` at `$.log_propensities`."),
        ({"prior": {"alpha": ["a"]}}, "expected `number`, got `string` at `$.prior.alpha[0]`."),
        ({"name": "-"}, "Body: expected 1 to 100 letters, digits, dots, dashes and underscores"),
        (
            {"colour": "red"},
            "Body: unknown field `colour`; known fields: name, items, n_positions,",
        ),
        ({"prior": {"alpa": [1]}}, "unknown field `alpa` at `$.prior`; known fields: alpha, beta."),
        ({"settings": '{"widht": 1}'}, 'pb-mhb: unknown setting "widht"; it has '),
        ({"settings": '{"widht": 1}'}, 'Did you mean "width"?'),
        ({"policy": "thompson"}, "settings.click_model must be given: dctr, cascade, dcm, pbm."),
        ({"items": None}, "Body: expected `array`, got `null` at `$.items`."),
        ({"name": "a b"}, 'that begin with a letter or a digit, got "a b" at `$.name`.'),
        ({"name": "a b" * 99}, "of length <= 100, got a length of 297 at `$.name`."),
        ({"n_positions": 0}, "Body: expected `integer` >= 1, got 0 at `$.n_positions`."),
        ({"items": []}, "expected `array` of length >= 1, got a length of 0 at `$.items`."),
        ({"prior": {"alpha": [1, -2]}}, "expected `number` > 0.0, got -2 at `$.prior.alpha[1]`."),
        (
            {"policy": "cascade-lin-ucb", "settings": '{"features": [[1, null]]}'},
            "features: must be a matrix of numbers, also in row 0, column 1, got null.",
        ),
        (
            {"policy": "cascade-lin-ucb", "settings": '{"features": [[1, "a"]]}'},
            'features: must be a matrix of numbers, also in row 0, column 1, got "a".',
        ),
    ],
)
def test_wrong_rankers(client: Client, more: dict[str, Any], expected: str) -> None:
    text = new_ranker(**{"policy": "pb-mhb", "settings": "{}", **more})
    assert expected in message(post(client, "/v1/rankers", text))


@pytest.mark.parametrize("name", ["shop", "Beta", "Features", "PBMUCB", "Shop", "from_ranking"])
def test_a_ranker_is_named_whatever_its_name_is(client: Client, name: str) -> None:
    both = {"prior": {"alpha": [1], "beta": [1]}, "start": {"ranking": ["a"]}}
    for more, rule in (({"n_positions": 4}, "n_positions must be"), (both, "give either prior or")):
        answer = post(client, "/v1/rankers", new_ranker("pb-mhb", "{}", name=name, **more))
        assert answer.json()["error"]["message"].startswith(f"{name}: {rule} ")


def test_a_policy_whose_name_is_one_word_is_named(client: Client) -> None:
    text = message(post(client, "/v1/rankers", new_ranker("grab", '{"nonsense": 1}')))
    assert text.startswith('grab: unknown setting "nonsense"')


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("rank", '{"id": "x y"}', 'dashes and underscores, got "x y" at `$.id`.'),
        ("rank/batch", '{"requests": [{}, {"id": "?"}]}', 'got "?" at `$.requests[1].id`.'),
        ("rank", json.dumps({"id": "?" * 200}), f'got "{"?" * 99}…" at `$.id`.'),
        # The rest of the body is malformed, so the value is unknown.
        ("rank", '{"id": "x y", "context": 1e999}', "dashes and underscores at `$.id`."),
    ],
)
def test_a_wrong_id_is_shown(client: Client, path: str, body: str, expected: str) -> None:
    assert message(post(client, f"/v1/rankers/shop/{path}", body)).endswith(expected)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("rankers?limit=x", 'Query: limit must be an integer between 1 and 1000, got "x".'),
        ("rankers?limit=0", 'Query: limit must be an integer between 1 and 1000, got "0".'),
        ("rankers?limit=", 'Query: limit must be an integer between 1 and 1000, got "".'),
        (
            f"rankers?after={'a' * 300}",
            "Query: after must be a string of at most 200 characters, got 300 characters.",
        ),
        (
            f"rankers/shop/contexts?after={'a' * 300}",
            "Query: after must be a string of at most 200 characters, got 300 characters.",
        ),
        (
            "rankers/shop/activity?seconds=1.5",
            'Query: seconds must be an integer between 1 and 604800, got "1.5".',
        ),
        (
            "rankers?colour=red",
            'Query: unknown parameter "colour"; known parameters: after, limit.',
        ),
    ],
)
def test_a_wrong_parameter_is_named_and_shown(client: Client, query: str, expected: str) -> None:
    assert message(client.get(f"/v1/{query}")) == expected


def test_an_unknown_setting_lists_only_settings(client: Client) -> None:
    text = message(post(client, "/v1/rankers", new_ranker("pb-mhb", '{"nonsense": 1}')))
    assert "prior" not in text
    assert "initial" not in text


def test_malformed_json_is_said_once(client: Client) -> None:
    text = message(post(client, "/v1/rankers", '{"name" "shop"}'))
    assert text == 'The body must be JSON: expected ":" (byte 8).'


def test_a_field_that_is_missing(client: Client) -> None:
    answer = post(client, "/v1/rankers", '{"name": "shop"}')
    assert message(answer) == "Body: required field `items` is missing."


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/rankers/it's"),
        ("GET", "/v1/rankers/a%22b"),
        ("GET", "/nowhere/'x'"),
        ("GET", "/static/none.js"),
        ("PUT", "/v1/rankers"),
        ("GET", "/v1/rankers?limit=x"),
        ("GET", "/v1/rankers?limit=None"),
        ("GET", "/v1/rankers?colour=red"),
        ("GET", "/v1/policies?colour=red"),
        ("DELETE", "/v1/keys/x"),
        ("POST", "/v1/impressions/short/clicks"),
    ],
)
def test_wrong_addresses(client: Client, method: str, path: str) -> None:
    answer = client.request(method, path, json={})
    assert "null" not in message(answer)


def test_what_policies_raise_is_worded_at_the_boundary(client: Client) -> None:
    wrong = client.get("/v1/rankers/shop")
    assert message(wrong) == (
        'pbm-ucb: epsilon must be true, false or "auto", got [null, true, "it\'s"].'
    )
    assert message(client.get("/v1/rankers/unknown")) == (
        'Unknown policy "grap". Did you mean "grab"?'
    )
