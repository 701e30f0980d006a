"""The OpenAPI schema names every route, is a schema, and its references resolve."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.routing import APIRoute

from deepprooflog.serve.service import Service
from deepprooflog.serve.web.app import make_app
from serve.conftest import Client

ROUTES = {
    "/api/session": {"get"}, "/api/complete": {"get"}, "/api/query": {"post"},
    "/api/explain": {"post"}, "/api/why_not": {"post"}, "/api/compare": {"post"},
    "/api/steps": {"post"}, "/api/supports": {"post"}, "/api/graph": {"post"},
    "/api/jobs/{number}": {"get", "delete"}, "/api/jobs/{number}/events": {"get"},
    "/api/facts": {"get", "post"}, "/api/facts/about": {"get"}, "/api/revision": {"get"},
    "/api/run": {"get"}, "/api/program": {"post"},
}  # fmt: skip


def test_the_schema_names_each_route(program: Client) -> None:
    schema = program.get("/openapi.json").json()
    assert schema["openapi"].startswith("3.1")
    assert {path: set(methods) for path, methods in schema["paths"].items()} == ROUTES
    for methods in schema["paths"].values():
        for one in methods.values():
            assert one["summary"] and "200" in one["responses"]
            assert {"400", "403", "409", "413"} <= set(one["responses"])


def test_the_schemas_routes_are_the_applications(program_service: Service) -> None:
    app = make_app(program_service)
    listed = {route.path for route in app.routes if isinstance(route, APIRoute)}
    assert {path for path in listed if path.startswith("/api")} <= set(ROUTES)
    operations = [one["operationId"] for m in app.openapi()["paths"].values() for one in m.values()]
    assert len(set(operations)) == len(operations)


def test_replies_are_what_the_schema_says(program: Client) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = program.get("/openapi.json").json()
    for one in schema["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(one)

    def reply_of(path: str, method: str, status: str) -> Any:
        form = schema["paths"][path][method]["responses"][status]["content"]["application/json"]
        return {**form["schema"], "components": schema["components"]}

    started = program.post("/api/query", json={"query": "s(X)"}).json()
    jsonschema.validate(started, reply_of("/api/query", "post", "200"))
    job = program.get(f"/api/jobs/{started['job']}?wait=60").json()
    jsonschema.validate(job, reply_of("/api/jobs/{number}", "get", "200"))
    names = program.get("/api/complete?prefix=s").json()
    jsonschema.validate(names, reply_of("/api/complete", "get", "200"))
    wrong = program.post("/api/query", json={"query": "s("})
    jsonschema.validate(wrong.json(), reply_of("/api/query", "post", "400"))
    checked = program.post("/api/program", json={"text": "p(."}).json()
    jsonschema.validate(checked, reply_of("/api/program", "post", "200"))
    refused = program.get("/api/session", headers={"host": "evil.example"}).json()
    jsonschema.validate(refused, reply_of("/api/session", "get", "403"))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"state": "lost"}, reply_of("/api/jobs/{number}", "get", "200"))


def test_all_references_resolve(program: Client) -> None:
    schema = program.get("/openapi.json").json()

    def look(value: Any) -> None:
        if isinstance(value, dict):
            if "$ref" in value:
                place = schema
                for part in value["$ref"].removeprefix("#/").split("/"):
                    place = place[part]
                assert place["type"] == "object"
            for one in value.values():
                look(one)
        elif isinstance(value, list):
            for one in value:
                look(one)

    look(schema)
    assert "examples" in json.dumps(schema)
