"""Damaged data: triples, rules in three formats, domains, pictures, plain and gzipped."""

from __future__ import annotations

import gzip
import random
import shutil
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

from deepprooflog.data.digits import read_idx
from deepprooflog.errors import ProofLogError
from deepprooflog.kg.data.domains import parse_domains
from deepprooflog.kg.data.folder import read_graph
from deepprooflog.kg.data.reading import SHIPPED, read_text, read_triples
from deepprooflog.kg.data.rule_remarks import unknown_relations
from deepprooflog.kg.data.rules import read_rules
from deepprooflog.kg.prove.program import program_of
from fuzz.damage import damaged
from fuzz.rounds import Rounds, Tally

PROMISE = "a damaged data file is read, or refused with one message that names it"
QUICK = 1200

ARROWS = b"""\
r0:0.7:brother(a,h), father(h,b) -> uncle(a,b)
r1:0.25:father(a,b) -> child(b,a)
# a comment
r2:1:mother('Ada L', b), sister(b,c) -> aunt(c,'Ada L')
"""
ANYBURL = b"""\
141\t97\t0.68\tuncle(X,Y) <= brother(X,A), father(A,Y)
20\t4\t0.2\tfather(ada,Y) <= mother(Y,bob)
"""
CLAUSES = b"""\
0.7 :: uncle(X, Y) :- brother(X, Z), father(Z, Y).
child(X, Y) :- father(Y, X).
:- dynamic(aunt/2).
aunt(X, Y) :- sister(X, Z), mother(Z, Y), \\+ X = Y.
"""
TABLE = b"ada\tmother\tbob\nbob\tfather\tcy\n7\tknows\t-3\n\nDr Who\tknows\t/m/08\n"
FACTS = b"mother(ada,bob).\nknows(7,'Dr Who').\n:- dynamic(p/2).\nstep-child(a,b).\n"
DOMAINS = b"people ada bob cy\nplaces ada\n"
PICTURES = b"\0\0\x08\x03" + struct.pack(">3I", 3, 2, 2) + bytes(range(12))


def attack(rounds: Rounds) -> Tally:
    """Damage one file in each case and read it, alone or as part of its folder."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "village"
        shutil.copytree(SHIPPED / "village", folder)
        graph = read_graph("village")
        (Path(base) / "names.txt").write_bytes(DOMAINS)
        names = " ".join(str(e) for e in graph.entities[:5])

        def whole(path: Path) -> object:
            again = read_graph(path.parent)
            rules = read_rules(again.rules) if again.rules else ()
            return program_of(again, rules), again.notices, unknown_relations(rules, again)

        kinds: list[tuple[str, bytes, Callable[[Path], object]]] = [
            ("train.tsv", TABLE, read_triples), ("facts.pl", FACTS, read_triples),
            ("either.txt", TABLE, read_triples), ("either.txt", FACTS, read_triples),
            ("rules.txt", ARROWS, read_rules), ("rules.tsv", ANYBURL, read_rules),
            ("rules.pl", CLAUSES, read_rules), ("rules.txt", CLAUSES, read_rules),
            (
                "domains.txt", f"people {names}\n".encode(),
                lambda p: parse_domains(graph, read_text(p), str(p)),
            ),
            ("pictures.idx", PICTURES, lambda p: read_idx(p, 3)),
        ]  # fmt: skip
        split = next(folder.glob("valid.*"))
        rules = next(folder.glob("rules.*"))
        for draw in rounds:
            if draw.random() < 0.1:
                path = draw.choice((split, rules))
                raw = path.read_bytes()
                path.write_bytes(damaged(raw, draw))
                tally.record(*_held(whole, path, f"the village's {path.name}"))
                path.write_bytes(raw)
                continue
            name, raw, read = draw.choice(kinds)
            path = Path(base) / (name + draw.choice(("", ".gz")))
            path.write_bytes(_packed(raw, draw) if path.suffix == ".gz" else damaged(raw, draw))
            tally.record(*_held(read, path, f"{path.name} of {raw[:20]!r}"))
            path.unlink()
    return tally


def _packed(raw: bytes, draw: random.Random) -> bytes:
    """Gzip of damaged bytes, or damaged gzip."""
    if draw.random() < 0.5:
        return gzip.compress(damaged(raw, draw), mtime=0)
    return damaged(gzip.compress(raw, mtime=0), draw)


def _held(read: Callable[[Path], object], path: Path, case: str) -> tuple[bool, str]:
    try:
        read(path)
    except ProofLogError as error:
        named = path.name in str(error) or "domain" in str(error) or error.file is not None
        return named, f"{case}: no file in {error}"
    except Exception as error:
        kept = path.read_bytes()[:400]
        return False, f"{case}: {type(error).__name__}: {error} from {kept!r}"
    return True, case
