"""The guard: foreign hosts and origins, sizes, kinds of content, what a page may load."""

from __future__ import annotations

import pytest

from deepprooflog.serve.web.guard import MOST_BODY, Listening
from serve.conftest import Client

ASK = {"query": "s(X)"}


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "evil.example:8765", "127.0.0.1:9999", "127.0.0.1", "",
        "localhost.evil:8765",
        "127.0.0.1:8765@evil.example", "127.0.0.1:8765:8765", "[::1", "localhost:port",
    ],
)  # fmt: skip
def test_a_foreign_host_is_refused(program: Client, host: str) -> None:
    for path in ("/api/session", "/", "/openapi.json"):
        assert program.get(path, headers={"host": host}).status_code == 403


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8765", "localhost:8765", "LOCALHOST:8765", "[::1]:8765"]
)
def test_our_own_names_are_let_in(program: Client, host: str) -> None:
    assert program.get("/api/session", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "https://evil.example:8765", "null", "http://127.0.0.1:8000", "file://",
     "http://127.0.0.1:8765.evil.example", "chrome-extension://abc"],
)  # fmt: skip
def test_a_foreign_origin_is_refused(program: Client, origin: str) -> None:
    headers = {"origin": origin}
    assert program.post("/api/query", json=ASK, headers=headers).status_code == 403
    assert program.get("/api/session", headers=headers).status_code == 403
    assert program.delete("/api/jobs/x", headers=headers).status_code == 403
    preflight = program.options("/api/query", headers=headers)
    assert preflight.status_code == 403
    assert "access-control-allow-origin" not in preflight.headers


def test_our_own_origin_and_scripts_may_ask(program: Client) -> None:
    for headers in ({}, {"origin": "http://127.0.0.1:8765"}, {"origin": "http://localhost:8765"}):
        assert program.post("/api/query", json=ASK, headers=headers).status_code == 200


def test_what_a_browser_sends_for_another_site_without_an_origin(program: Client) -> None:
    headers = {"sec-fetch-site": "cross-site"}
    assert program.get("/api/session", headers=headers).status_code == 403
    assert program.get("/openapi.json", headers=headers).status_code == 200


def test_forms_of_other_pages_are_no_json(program: Client) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        reply = program.post(
            "/api/query", content=b'{"query": "p"}', headers={"content-type": kind}
        )
        assert reply.status_code == 415


def test_a_body_too_large_is_refused_told_or_untold(program: Client) -> None:
    headers = {"content-type": "application/json"}
    large = b" " * (MOST_BODY + 1)
    assert program.post("/api/program", content=large, headers=headers).status_code == 413
    pieces = (b" " * 500_000 for _ in range(20))
    reply = program.post("/api/program", content=pieces, headers=headers)
    assert reply.status_code == 413 and "bytes" in reply.json()["error"]["message"]
    wrong = {**headers, "content-length": "-5"}
    assert program.post("/api/program", content=b"{}", headers=wrong).status_code == 400


def test_every_answer_says_what_a_page_may_do(program: Client) -> None:
    for path in ("/api/session", "/openapi.json", "/nothing"):
        headers = program.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "http:" not in policy
        assert headers["x-content-type-options"] == "nosniff"
    refused = program.get("/", headers={"host": "evil.example"})
    assert "default-src 'self'" in refused.headers["content-security-policy"]


def test_files_outside_the_page_are_not_served(program: Client) -> None:
    for path in ("/page/../worker.py", "/page/%2e%2e/worker.py", "/page//etc/passwd"):
        assert program.get(path).status_code == 404


def test_on_all_interfaces_addresses_are_ours_and_names_are_not() -> None:
    everywhere = Listening("0.0.0.0", 8765)
    assert everywhere.is_ours("192.168.1.5:8765") and everywhere.is_ours("[fe80::1]:8765")
    assert not everywhere.is_ours("evil.example:8765") and not everywhere.is_local
    assert Listening("127.0.0.1", 80).is_ours("127.0.0.1")
