"""`dprl data`: list and fetch public data sets, check the triples of a folder and index them."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from deepprooflog.cli import report
from deepprooflog.cli.arguments import Commands, command
from deepprooflog.errors import DataError

if TYPE_CHECKING:
    from deepprooflog.data.sources import DataSource

EXAMPLE = """\
  dprl data list
  dprl data get wn18rr_standard
  dprl data check FOLDER
  dprl data index FOLDER
"""
LIST_EXAMPLE = """\
  dprl data list

JSON: {sets: [{name, about, folder, triples, bytes, addresses, there}]}; there: the folder among the
places for data that has the files, with the right checksums, or null
"""
GET_EXAMPLE = """\
  dprl data get mnist
  dprl data get grail                 # all graphs whose name begins with grail/
  dprl data get countries_s1 --to data/kg/countries_s1

What came is kept when the connection or Ctrl-C ends it: the same command goes on from there. A file
is taken when its checksum is right, and then written whole. An archive is refused that unpacks to
more than 512 MiB, names a path outside its folder or holds a link. A machine that is offline is
told which files to put where. Exit status: 0 they are there, 2 they are not
JSON: {sets: [{name, folder}], seconds}
"""
CHECK_EXAMPLE = """\
  dprl data check village
  dprl data check FOLDER --json

Exit status: 0 no fault, 1 rows that falsify figures (duplicates, triples of one split that another
has too, rows that name columns), 2 the data cannot be read. Half-links: of a triple r(h, t),
whether train has r(h, ·) and r(·, t). A pair of relations is named where each has --threshold of
the other's facts, as an inverse or under the other name
JSON: {name, faults, entities, relations, unseen_entities, single_entities, single_relations,
splits: {train|valid|test: {rows, duplicates, header_rows, in_train, in_valid, unseen_entity,
unseen_relation, self_loops, inverse_in_train, pair_in_train, halves: {both, head, tail, none}}},
pairs: [{kind, first, second, shared, of_first, of_second, share}], notices}
"""

INDEX_EXAMPLE = """\
  dprl data index FOLDER
  dprl data index FOLDER --check      # compare every byte of the index with its checksums

Writes FOLDER/graph.index, which is opened in place of the text from then on; where the text has
changed since, a notice says so and the text is read. An index of more than 256 MiB is not read
through when it is opened: --check does that. Graphs from RDF have no index
JSON: {path, entities, relations, triples, bytes, seconds}; with --check {path, bytes, seconds}
"""


def add_parser(commands: Commands) -> None:
    summary = "list, fetch, check and index data sets"
    parser = commands.add_parser(
        "data", help=summary, description=summary[0].upper() + summary[1:] + ".",
        epilog=f"example:\n{EXAMPLE}", formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )  # fmt: skip
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    for add in (_add_list, _add_get, _add_check, _add_index):
        add(actions)


def _add_list(actions: Commands) -> None:
    parser = command(actions, "list", "the data sets known by name, and which are here",
                     LIST_EXAMPLE)  # fmt: skip
    parser.set_defaults(run=run_list)


def _add_get(actions: Commands) -> None:
    parser = command(actions, "get", "fetch a public data set, with its checksums checked",
                     GET_EXAMPLE)  # fmt: skip
    parser.add_argument("name", metavar="NAME", help="one that dprl data list names")
    parser.add_argument("--to", metavar="FOLDER", help="default: the user's cache")
    parser.set_defaults(run=run_get)


def _add_check(actions: Commands) -> None:
    parser = command(actions, "check", "count what is odd about a graph's triples", CHECK_EXAMPLE)
    parser.add_argument("data", metavar="FOLDER", help="a folder, a file, or a data set's name")
    parser.add_argument(
        "--threshold", metavar="X", type=_share, default=0.8,
        help="share from which relations are inverses or duplicates; default: 0.8",
    )  # fmt: skip
    parser.set_defaults(run=run_check, needs="deepprooflog.kg.checking.check")


def _add_index(actions: Commands) -> None:
    parser = command(actions, "index", "make a folder's triples a file that opens fast",
                     INDEX_EXAMPLE)  # fmt: skip
    parser.add_argument("data", metavar="FOLDER", help="a folder with train, valid and test")
    parser.add_argument(
        "--check", action="store_true", help="make none: see that the one there is undamaged"
    )
    parser.set_defaults(run=run_index, needs="deepprooflog.kg.data.graph_index")


def _share(text: str) -> float:
    """A share above 0.

    >>> _share("0.9")
    0.9
    """
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"a share above 0 and up to 1 is needed, not {text!r}")
    return value


def run_list(arguments: argparse.Namespace) -> int:
    """Print the table of data sets."""
    from deepprooflog.data.fetch import held
    from deepprooflog.data.sources import SOURCES

    rows = []
    for source in SOURCES.values():
        there = held(source)
        rows.append({
            "name": source.name, "about": source.about, "folder": source.where,
            "triples": list(source.triples) or None, "bytes": source.size,
            "addresses": [*source.urls, *(archive.url for archive in source.archives)],
            "there": None if there is None else str(there),
        })  # fmt: skip
    if arguments.json:
        report.emit_json({"sets": rows})
        return 0
    for row in rows:
        state = row["there"] or ("dprl data get " + str(row["name"]) if row["addresses"]
                                 else "to be put there by hand")  # fmt: skip
        print(f"{row['name']:<20} {_size(row['bytes']):>9}  {row['about']}\n{'':<32}{state}")
    return 0


def _size(size: object) -> str:
    """Bytes for people.

    >>> _size(24_099_892), _size(610), _size(None)
    ('24.1 MB', '610 B', '')
    """
    if not isinstance(size, int):
        return ""
    for unit, least in (("MB", 10**6), ("kB", 10**3)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size} B"


def run_get(arguments: argparse.Namespace) -> int:
    """Fetch what is missing, and say where it is."""
    from deepprooflog.data.fetch import fetch

    began = time.perf_counter()
    sources = _named(arguments.name)
    if arguments.to is not None and len(sources) > 1:
        raise DataError(f"{arguments.name} is {len(sources)} data sets, --to one folder",
                        hint=f"dprl data get {sources[0].name} --to FOLDER")  # fmt: skip
    folder = None if arguments.to is None else Path(arguments.to)
    done = []
    for source in sources:
        there = fetch(source, folder, say=_said)
        done.append({"name": source.name, "folder": str(there)})
        if not arguments.json:
            print(there)
    if arguments.json:
        report.emit_json({"sets": done, "seconds": time.perf_counter() - began})
    return 0


def _said(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _named(name: str) -> list[DataSource]:
    import difflib

    from deepprooflog.data.sources import SOURCES

    found = [s for s in SOURCES.values() if s.name == name or s.name.startswith(f"{name}/")]
    if not found:
        near = difflib.get_close_matches(name, SOURCES, 1, 0.6)
        raise DataError(
            f"no data set {name!r} is known",
            hint=f"did you mean {near[0]}?" if near else "dprl data list",
        )
    return found


def run_check(arguments: argparse.Namespace) -> int:
    """Count, and say by the exit status whether rows falsify figures."""
    from deepprooflog.kg.checking.check import check_graph

    found = check_graph(arguments.data, arguments.threshold)
    if arguments.json:
        report.emit_json(found.to_dict())
    else:
        print(found)
    return 1 if found.faults else 0


def run_index(arguments: argparse.Namespace) -> int:
    """Write the index, and say what is in it; or check the one that is there."""
    from deepprooflog.kg.data.graph_index import check_index, index_folder

    began = time.perf_counter()
    if arguments.check:
        path, size = check_index(arguments.data)
        if arguments.json:
            seconds = time.perf_counter() - began
            report.emit_json({"path": str(path), "bytes": size, "seconds": seconds})
        else:
            print(f"{path}: all of its {size / 1e6:,.1f} MB are as they were written")
        return 0
    made = index_folder(arguments.data)
    if arguments.json:
        report.emit_json({**made.to_dict(), "seconds": time.perf_counter() - began})
    else:
        print(made)
    return 0
