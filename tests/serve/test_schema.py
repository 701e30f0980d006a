"""The OpenAPI schema names every route, is a schema, and its references resolve."""

from __future__ import annotations

import json
from typing import Any

from fastapi.routing import APIRoute

from deepprooflog.serve.service import Service
from deepprooflog.serve.web.app import make_app
from serve.conftest import Client

ROUTES = {
    "/api/session": {"get"}, "/api/complete": {"get"}, "/api/query": {"post"},
    "/api/explain": {"post"}, "/api/why_not": {"post"}, "/api/compare": {"post"},
    "/api/steps": {"post"}, "/api/graph": {"post"}, "/api/jobs/{number}": {"get", "delete"},
    "/api/jobs/{number}/events": {"get"}, "/api/facts": {"get", "post"},
    "/api/facts/about": {"get"}, "/api/run": {"get"}, "/api/program": {"post"},
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
