"""`dprl serve [RUN|FILE]`: a run or a program in the browser, by HTTP, or for an agent by MCP."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, redirect_stdout
from typing import TYPE_CHECKING

from deepprooflog.cli import report
from deepprooflog.cli.arguments import Commands, command, positive_integer, positive_seconds
from deepprooflog.errors import DataError, ProofLogError

if TYPE_CHECKING:
    from deepprooflog.serve.service import Service

EXAMPLE = """\
  dprl serve runs/family
  dprl serve two_ways.pl --port 9000 --no-browser
  dprl serve --mcp two_ways.pl

The page and the API (its schema is at /openapi.json) listen on this machine alone; there is no
login, so that --host 0.0.0.0 lets everyone ask who can reach the machine. Every question has a
budget and can be cancelled. JSON: one line when it listens, {url, kind, name, openapi, jobs,
max_seconds}. With --mcp it speaks the Model Context Protocol on standard input and output.
"""


def add_parser(commands: Commands) -> None:
    parser = command(commands, "serve", "explore a run or a program in the browser", EXAMPLE)
    parser.add_argument(
        "source", metavar="RUN|FILE", nargs="?",
        help="a folder that dprl train wrote, or a program; default: a sample program",
    )  # fmt: skip
    parser.add_argument("--host", default="127.0.0.1", help="default: this machine alone")
    parser.add_argument(
        "--port", type=port_number, default=8765, help="default: 8765; 0 takes a free one"
    )
    parser.add_argument(
        "--jobs", metavar="N", type=positive_integer, default=2,
        help="questions answered at once, each by a process of its own (default: 2)",
    )  # fmt: skip
    parser.add_argument(
        "--max-seconds", dest="most_seconds", metavar="S", type=positive_seconds, default=60.0,
        help="the longest a question may take (default: 60)",
    )  # fmt: skip
    parser.add_argument("--no-browser", action="store_true", help="do not open the page")
    parser.add_argument(
        "--mcp", action="store_true", help="an MCP server on standard input and output"
    )
    parser.set_defaults(run=run)


def port_number(text: str) -> int:
    """A port, or 0 for a free one.

    >>> port_number("8765")
    8765
    """
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"a port from 0 to 65535 is needed, not {text!r}")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Serve until interrupted."""
    if arguments.mcp:
        return _serve_mcp(arguments)
    return _serve_http(arguments)


@contextmanager
def _service(arguments: argparse.Namespace) -> Iterator[Service]:
    from deepprooflog.serve.service import FailedJob, Service, ServiceLimits
    from deepprooflog.serve.source import find_source

    source = find_source(arguments.source)
    limits = ServiceLimits(jobs=arguments.jobs, max_seconds=arguments.most_seconds)
    service = Service(source, limits)
    try:
        try:
            service.start()
        except FailedJob as error:
            raise error.with_file(arguments.source) from None
        for notice in service.card.get("notes", []):
            report.note(notice)
        yield service
    finally:
        service.close()


def _serve_http(arguments: argparse.Namespace) -> int:
    try:
        from deepprooflog.serve.web.run import listen, serve
    except ImportError as error:
        raise _missing("serve", error) from None
    # Early, so that a port that is taken is told before anything is loaded.
    sock, listening = listen(arguments.host, arguments.port)
    with closing(sock), _service(arguments) as service:
        session, url = service.session(), listening.url
        if arguments.json:
            report.emit_json(
                {
                    "url": url, "kind": session["kind"], "name": session["name"],
                    "openapi": f"{url}openapi.json", "jobs": arguments.jobs,
                    "max_seconds": arguments.most_seconds,
                }
            )  # fmt: skip
        else:
            print(f"{session['kind']} {session['name']}: {url}  (Ctrl-C ends)")
        sys.stdout.flush()
        if not listening.is_local:
            report.note("there is no login: whoever reaches this address may ask")
        if not (arguments.no_browser or arguments.json):
            import webbrowser

            webbrowser.open(url)
        serve(service, sock, listening)
    return 0


def _serve_mcp(arguments: argparse.Namespace) -> int:
    try:
        from deepprooflog.serve.mcp_server import mcp_server
    except ImportError as error:
        raise _missing("mcp", error) from None
    with _service(arguments) as service, _protocol_output():
        mcp_server(service).run("stdio")
    return 0


@contextmanager
def _protocol_output() -> Iterator[None]:
    """Standard output as it is: it carries the protocol, not text for a terminal."""
    if sys.__stdout__ is None:
        raise DataError("there is no standard output to speak on")
    with redirect_stdout(sys.__stdout__):
        yield


def _missing(extra: str, error: ImportError) -> ProofLogError:
    return DataError(
        f"dprl serve needs {error.name}, which is not installed",
        hint=f"pip install 'deepprooflog[{extra}]'",
    )
