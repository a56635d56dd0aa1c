"""Files of the dashboard: reads them once from the package, and answers with entity tags."""

from __future__ import annotations

import hashlib
from importlib.resources import files

from clickrank.service.api.asgi import Header, Headers, Rejected, Reply
from clickrank.service.runtime.refusals import quoted

_MEDIA = {
    ".css": b"text/css; charset=utf-8",
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".png": b"image/png",
    ".ico": b"image/x-icon",
    ".txt": b"text/plain; charset=utf-8",
    ".woff2": b"font/woff2",
}
_SAFE: tuple[Header, ...] = (
    (
        b"content-security-policy",
        b"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
        b"object-src 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),  # browsers ask each time, and the tag makes that cheap
)


def read_pages() -> dict[str, Reply]:
    """Return the answers by path."""
    found = {}
    for file in files("clickrank.service.api").joinpath("dashboard").iterdir():
        media = _MEDIA.get("." + file.name.rpartition(".")[2])
        if media is None or not file.is_file():
            continue
        body = file.read_bytes()
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'.encode()
        path = "/" if file.name == "index.html" else f"/static/{file.name}"
        found[path] = Reply(200, body, ((b"content-type", media), (b"etag", tag), *_SAFE))
    return found


def page_reply(pages: dict[str, Reply], path: str, headers: Headers) -> Reply:
    """Return a file, or the status 304 if the client already has it."""
    page = pages.get(path)
    if page is None:
        raise Rejected("unknown_path", f"There is no file {quoted(path)}.", 404)
    tag = dict(page.headers)[b"etag"]
    known = headers.get(b"if-none-match", b"")
    tags = {part.strip().removeprefix(b"W/") for part in known.split(b",")}
    return Reply(304, b"", page.headers) if tag in tags or b"*" in tags else page
