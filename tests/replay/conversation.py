"""Send recorded requests to the service in this process, and keep the stable part of answers.

Time stands still but for what the conversation says, the lists are drawn with a seed, and clicks
are learned from before the next request: so lists, times and reports are the same each time.
"""

from __future__ import annotations

import io
import json
import re
import time
import tomllib
from pathlib import Path
from typing import Any

from tests.replay.compare import named
from tests.replay.where import FOLDER, no_time_passes, service
from tests.service.fake_engine import Client
from tests.service.python_words import python_words

SEED = 11
#: When the conversation begins, in nanoseconds since 1970, and how long each request takes.
BEGINNING, STEP = 1_700_000_000 * 10**9, 10**7
#: Headers that an answer must keep, besides its type.
HEADERS = ("allow", "content-disposition", "retry-after", "www-authenticate", "cache-control")
#: Keys whose values are different each time: secrets, times of keys, which are taken from the
#: machine's clock, and what is being compiled just now.
VARYING = {"secret": "a secret", "compiling": "some"}
_KEY_TIMES = {"created", "revoked"}
#: Words of addresses and bodies that any message may contain.
_EVERYWHERE = {"activity", "clicks", "contexts", "impressions", "items", "keys", "name"}
_EVERYWHERE |= {"rank", "rankers", "report", "v1"}
#: Ids that the service chooses.
_MADE = re.compile(r"[0-9a-f]{32}")


def conversation() -> list[dict[str, Any]]:
    """Return the requests, in the order in which they are sent."""
    text = (FOLDER / "requests.toml").read_text()
    found: list[dict[str, Any]] = tomllib.loads(text)["request"]
    return found


class Talk:
    """The service, values from answers for later requests, and the time."""

    def __init__(self, folder: Path) -> None:
        self._store = f"sqlite:///{folder / 'store.db'}"
        self._now = BEGINNING
        self._known: dict[str, str] = {}
        self._client: Client | None = None

    def start(self, keys_required: bool = False) -> None:
        """Start the service, or restart it."""
        self.stop()
        app = service(self._store, lambda: self._now, SEED, keys_required)
        self._client = Client(app)
        self._client.__enter__()

    def stop(self) -> None:
        """Stop it, if it runs."""
        if self._client is not None:
            self._client.__exit__()
        self._client = None

    def ask(self, step: dict[str, Any]) -> dict[str, Any]:
        """Send a request; return the part of the answer that is compared."""
        if "start" in step:
            self.start(keys_required=step["start"] == "with keys")
        self._now += STEP + step.get("later", 0) * 10**9
        if "settled" in step:
            self._wait(*step["settled"])
        method, path = self._filled(step["call"]).split(" ", 1)
        headers = {name: self._filled(value) for name, value in step.get("headers", {}).items()}
        content = None
        if "body" in step:
            content = self._filled(json.dumps(step["body"])).encode()
        elif "text" in step:
            content = step["text"].encode()
        if content is not None:
            headers = {"content-type": "application/json", **headers}
        answer = self.sent(method, path, content, headers)
        for name, keys in step.get("keep", {}).items():
            value = answer.json()
            for key in keys:
                value = value[key]
            self._known[name] = value
        return self._kept(step, answer)

    def sent(
        self,
        method: str,
        path: str,
        content: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Any:
        """Send a request as it is; return the answer."""
        assert self._client is not None
        return self._client.request(method, path, content=content, headers=headers)

    def _filled(self, text: str) -> str:
        for name, value in self._known.items():
            text = text.replace(f"<{name}>", value)
        return text

    def _wait(self, ranker: str, context: str, count: int) -> None:
        """Wait until this number of lists was learned from."""
        deadline = time.monotonic() + 30.0
        path, headers = f"/v1/rankers/{ranker}/report?context={context}", {}
        if "admin" in self._known:
            headers = {"authorization": f"Bearer {self._known['admin']}"}
        while self.sent("GET", path, headers=headers).json()["settled"] < count:
            assert time.monotonic() < deadline, (ranker, context)
            time.sleep(0.05)

    def _kept(self, step: dict[str, Any], answer: Any) -> dict[str, Any]:
        media = answer.headers.get("content-type", "")
        found: dict[str, Any] = {"call": step["call"], "status": answer.status_code, "type": media}
        kept = {name: answer.headers[name] for name in HEADERS if name in answer.headers}
        if kept:
            found["headers"] = kept
        if step["call"].startswith("HEAD"):
            assert answer.content == b""
        elif media == "application/json" and answer.status_code >= 400:
            found |= _error(step, answer.json())
        elif "/openapi.json" in step["call"]:
            found["json"] = sorted(answer.json())
        elif media == "application/json":
            found["json"] = self._plain(answer.json(), "/keys" in step["call"])
        elif media.endswith("parquet"):
            found["rows"] = self._plain(_rows(answer.content))
        elif media.startswith("text/plain"):
            found["metrics"] = _metrics(answer.text)
        return found

    def _plain(self, value: Any, of_keys: bool = False) -> Any:
        """Return JSON without varying values; ids that the service chose are replaced."""
        if isinstance(value, dict):
            found = {}
            for key, inner in value.items():
                if key in VARYING:
                    inner = VARYING[key]
                elif of_keys and key in _KEY_TIMES and inner is not None:
                    inner = "a time"
                elif key == "error" and inner is not None:
                    assert not python_words(inner["message"]), inner
                    inner = {**inner, "message": "a message"}
                found[key] = self._plain(inner, of_keys)
            return found
        if isinstance(value, list):
            return [self._plain(inner, of_keys) for inner in value]
        if isinstance(value, str) and _MADE.fullmatch(value):
            return "an id"
        return value


def hold(folder: Path) -> list[dict[str, Any]]:
    """Send all requests; return the parts of the answers that are compared."""
    talk = Talk(folder)
    with no_time_passes():
        try:
            talk.start()
            return [talk.ask(step) for step in conversation()]
        finally:
            talk.stop()


def _error(step: dict[str, Any], body: Any) -> dict[str, Any]:
    """Return an error's code, and which words of the request its message names."""
    assert list(body) == ["error"]
    assert sorted(body["error"]) == ["code", "message"]
    message = body["error"]["message"]
    assert message
    assert not python_words(message), message
    text = re.sub(r"^[\w/.-]+: ", "", message)  # without the owner
    body_words = _words(step.get("body", {}))
    text = re.sub(r'"([^"]*)"', r"'\1'", text)  # the recordings have single quotes
    values = [word for word in body_words[1] if word in text]
    marked = [word for word in body_words[0] if re.search(rf"[$`'.]{word}[`'.]|^{word} must", text)]
    path, _, query = step["call"].partition(" ")[2].partition("?")
    others = [word for word in body_words[0] + path.split("/") if word not in _EVERYWHERE]
    names = marked + values or named(others + re.split("[&=]", query), text)
    return {"code": body["error"]["code"], "names": list(dict.fromkeys(names))}


def _words(body: Any) -> tuple[list[str], list[str]]:
    """Return the names of a body's fields, and its texts as messages quote them."""
    if isinstance(body, dict):
        inside = [_words(inner) for inner in body.values()]
        fields = [*body, *(word for found, _ in inside for word in found)]
        return fields, [word for _, found in inside for word in found]
    if isinstance(body, list):
        inside = [_words(inner) for inner in body]
        return [w for found, _ in inside for w in found], [w for _, found in inside for w in found]
    return [], [f"'{body}'"] if isinstance(body, str) else []


def _rows(content: bytes) -> dict[str, Any]:
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(content))
    columns = {field.name: str(field.type) for field in table.schema}
    rows = [[_value(row[name]) for name in columns] for row in table.to_pylist()]
    return {"columns": columns, "rows": rows}


def _value(value: Any) -> Any:
    simple = value is None or isinstance(value, bool | int | float | str)
    return value if simple else str(value)


def _metrics(text: str) -> list[str]:
    """Return the numbers, but when they began to be counted and what waits just now.

    Those of reports are left out, too, which are asked for until something is learned from. The
    limits of durations are the same for all routes, so one of them will do.
    """
    lines = [line for line in text.splitlines() if not line.startswith("# HELP")]
    lines = [line for line in lines if "_bucket" not in line or "POST /ping" in line]
    varying = re.compile(r"^(\S*_created.*|clickrank_queue_length|.*GET \S*/report.*}) \S+$")
    return [varying.sub(r"\1 some", line) for line in lines]


def described(folder: Path) -> dict[str, Any]:
    """Return the part of the OpenAPI description that programs rely on."""
    talk = Talk(folder)
    with no_time_passes():
        try:
            talk.start()
            found = talk.sent("GET", "/openapi.json").json()
        finally:
            talk.stop()
    paths = {
        path: {method: _operation(operation) for method, operation in operations.items()}
        for path, operations in found["paths"].items()
    }
    schemas = {name: _schema(one) for name, one in found["components"]["schemas"].items()}
    return {"openapi": found["openapi"], "paths": paths, "schemas": schemas}


def _operation(operation: dict[str, Any]) -> dict[str, Any]:
    parameters = {
        f"{one['in']} {one['name']}": {"required": one["required"], **_schema(one["schema"])}
        for one in operation.get("parameters", [])
    }
    responses = {
        status: {
            media: _schema(content.get("schema", {}))
            for media, content in answer.get("content", {}).items()
        }
        for status, answer in operation["responses"].items()
    }
    body = operation.get("requestBody", {}).get("content", {})
    return {
        "operationId": operation["operationId"],
        "tags": operation["tags"],
        "keys": operation.get("security", []),
        "parameters": parameters,
        "body": {media: _schema(content["schema"]) for media, content in body.items()},
        "responses": responses,
    }


_PROSE = {"title", "description", "examples", "example"}


def _schema(schema: Any) -> Any:
    """Return a schema without its prose; what is required as a dictionary, which may grow."""
    if isinstance(schema, dict):
        found: dict[str, Any] = {}
        for key, inner in schema.items():
            if key == "properties":
                found[key] = {name: _schema(one) for name, one in inner.items()}
            elif key == "required" and isinstance(inner, list):
                found[key] = dict.fromkeys(sorted(inner), True)
            elif key not in _PROSE:
                found[key] = _schema(inner)
        return found
    return [_schema(inner) for inner in schema] if isinstance(schema, list) else schema
