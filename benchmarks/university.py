"""Graphs of a university-like schema with planted rules, of any size and always the same.

    python benchmarks/university.py --triples 1_000_000 --out graph

Universities have departments, these have professors, students, courses and papers, in numbers that
do not depend on the graph's size: a larger graph has more universities, and a query has as many
answers as in a small one. What the rules of `rules.pl` derive is true of the schema; most of it is
told in train, the rest is in valid and test, beside a few triples that are simply left out.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

RULES = """\
studies_at(S, U) :- member_of(S, D), part_of(D, U).
employed_at(P, U) :- works_for(P, D), part_of(D, U).
taught_by(S, P) :- takes(S, C), teaches(P, C).
coauthor(P, Q) :- author(B, P), author(B, Q), P \\= Q.
member_of(S, D) :- advisor(S, P), works_for(P, D).
advisor(S, P) :- taught_by(S, P), author(B, P), author(B, S).
"""

# A university: departments, and in each of them.
DEPARTMENTS, PROFESSORS, STUDENTS, COURSES, PAPERS = 15, 20, 200, 40, 60
TAKEN, AUTHORS = 3, 3
PER_DEPARTMENT = 1_900  # training triples, about
TOLD = 0.8  # share of what the rules derive that train has
HELD = 2_000  # triples at most in valid, and in test

PLAIN = ("part_of", "works_for", "member_of", "takes", "teaches", "advisor", "author")
DERIVED = ("studies_at", "employed_at", "taught_by", "coauthor")


@dataclass(frozen=True, eq=False)
class University:
    """Triples as numbers; `names[e]` and `relations[r]` are written out in files."""

    names: list[str]
    relations: tuple[str, ...]
    train: np.ndarray  # [triples, 3]
    valid: np.ndarray
    test: np.ndarray


def university(triples: int, seed: int = 0) -> University:
    """A graph of about so many training triples, whole departments at a time."""
    rng = np.random.default_rng(seed)
    departments = max(1, round(triples / PER_DEPARTMENT))
    kinds = {
        "university": -(-departments // DEPARTMENTS), "department": departments,
        "professor": departments * PROFESSORS, "student": departments * STUDENTS,
        "course": departments * COURSES, "paper": departments * PAPERS,
    }  # fmt: skip
    first = dict(zip(kinds, np.cumsum([0, *kinds.values()]).tolist(), strict=False))
    names = [f"{kind}_{number}" for kind, count in kinds.items() for number in range(count)]

    def everyone(kind: str) -> np.ndarray:
        return np.arange(first[kind], first[kind] + kinds[kind])

    def home(kind: str, each: int) -> np.ndarray:
        return np.arange(kinds[kind]) // each

    def drawn(kind: str, each: int, of: np.ndarray) -> np.ndarray:
        """Someone of a kind in each department."""
        return np.asarray(first[kind] + of * each + rng.integers(0, each, len(of)))

    part = np.stack([everyone("department"), first["university"]
                     + np.arange(departments) // DEPARTMENTS], 1)  # fmt: skip
    student_home, course_home = home("student", STUDENTS), home("course", COURSES)
    works = np.stack(
        [everyone("professor"), first["department"] + home("professor", PROFESSORS)], 1
    )
    member = np.stack([everyone("student"), first["department"] + student_home], 1)
    several = np.repeat(everyone("student"), TAKEN)
    takes = np.stack([several, drawn("course", COURSES, np.repeat(student_home, TAKEN))], 1)
    teaches = np.stack([drawn("professor", PROFESSORS, course_home), everyone("course")], 1)
    advisor = np.stack([everyone("student"), drawn("professor", PROFESSORS, student_home)], 1)[::2]
    papers = np.repeat(everyone("paper"), AUTHORS)
    author = np.stack([papers, drawn("professor", PROFESSORS, np.repeat(home("paper", PAPERS),
                                                                       AUTHORS))], 1)  # fmt: skip
    # What the rules derive: of every course the one who teaches it, of a department its university.
    teacher = teaches[:, 0]
    plain = (part, works, member, takes, teaches, advisor, author)
    derived = (
        np.stack([member[:, 0], part[member[:, 1] - first["department"], 1]], 1),
        np.stack([works[:, 0], part[works[:, 1] - first["department"], 1]], 1),
        np.stack([takes[:, 0], teacher[takes[:, 1] - first["course"]]], 1),
        _pairs(author),
    )
    rows = [_rows(pairs, number) for number, pairs in enumerate(plain)]
    for number, pairs in enumerate(derived, len(plain)):
        rows.append(_rows(pairs, number))
    told, held = [], []
    for number, part_rows in enumerate(rows):
        share = TOLD if number >= len(plain) else 0.99
        kept = rng.random(len(part_rows)) < share
        told.append(part_rows[kept])
        held.append(part_rows[~kept])
    left = np.concatenate(held)
    left = left[rng.permutation(len(left))]
    count = min(HELD, len(left) // 2)
    train = np.concatenate(told)
    return University(
        names, (*PLAIN, *DERIVED), train[rng.permutation(len(train))], left[:count],
        left[count : 2 * count],
    )  # fmt: skip


def _rows(pairs: np.ndarray, relation: int) -> np.ndarray:
    pairs = np.unique(pairs, axis=0)
    return np.stack([pairs[:, 0], np.full(len(pairs), relation), pairs[:, 1]], 1)


def _pairs(author: np.ndarray) -> np.ndarray:
    """Two different authors of one paper, both ways round."""
    of_paper = author[:, 1].reshape(-1, AUTHORS)
    both = [of_paper[:, [i, j]] for i in range(AUTHORS) for j in range(AUTHORS) if i != j]
    pairs = np.concatenate(both)
    return np.asarray(pairs[pairs[:, 0] != pairs[:, 1]])


def write(graph: University, folder: Path) -> None:
    """The graph as train.tsv, valid.tsv, test.tsv and rules.pl."""
    folder.mkdir(parents=True, exist_ok=True)
    names, relations = graph.names, graph.relations
    for split in ("train", "valid", "test"):
        rows = getattr(graph, split).tolist()
        lines = (f"{names[h]}\t{relations[r]}\t{names[t]}\n" for h, r, t in rows)
        with open(folder / f"{split}.tsv", "w", encoding="utf-8") as file:
            file.writelines(lines)
    (folder / "rules.pl").write_text(RULES)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--triples", type=lambda text: int(text.replace("_", "")), default=10**5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="the folder to write")
    options = parser.parse_args()
    graph = university(options.triples, options.seed)
    write(graph, options.out)
    print(f"{options.out}: {len(graph.names):,} entities, {len(graph.relations)} relations, "
          f"{len(graph.train):,} / {len(graph.valid):,} / {len(graph.test):,} triples")  # fmt: skip


if __name__ == "__main__":
    main()
