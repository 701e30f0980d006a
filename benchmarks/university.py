"""Graphs of a university-like schema with planted rules, of any size and always the same.

    python benchmarks/university.py --triples 1_000_000 --out graph

Universities have departments, these have professors, students, courses and papers, in numbers that
do not depend on the graph's size: a larger graph has more universities, and a query has as many
answers as in a small one. What the rules of `rules.pl` derive is true of the schema; most of it is
told in train, the rest is in valid and test, beside a few triples that are simply left out. A
triple is one number until it is written, so that 10⁸ of them take some 5 GB.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator
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
RELATIONS = (*PLAIN, *DERIVED)
WRITTEN = 250_000  # triples at a time


@dataclass(frozen=True, eq=False)
class University:
    """Triples as numbers; entities are numbered kind by kind."""

    kinds: dict[str, int]  # how many entities there are of each
    train: np.ndarray  # [triples], each one number
    valid: np.ndarray
    test: np.ndarray

    @property
    def entities(self) -> int:
        """How many there are."""
        return sum(self.kinds.values())

    def columns(self, triples: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Heads, relations and tails."""
        rest, tail = np.divmod(triples, self.entities)
        head, relation = np.divmod(rest, len(RELATIONS))
        return head, relation, tail


def university(triples: int, seed: int = 0) -> University:
    """A graph of about so many training triples, whole departments at a time."""
    rng = np.random.default_rng(seed)
    departments = max(1, round(triples / PER_DEPARTMENT))
    kinds = {
        "university": -(-departments // DEPARTMENTS), "department": departments,
        "professor": departments * PROFESSORS, "student": departments * STUDENTS,
        "course": departments * COURSES, "paper": departments * PAPERS,
    }  # fmt: skip
    told, held, entities = [], [], sum(kinds.values())
    for relation, (heads, tails) in _relations(kinds, rng):
        number = RELATIONS.index(relation)
        own = np.unique((heads * len(RELATIONS) + number) * entities + tails)
        kept = rng.random(len(own)) < (0.99 if relation in PLAIN else TOLD)
        told.append(own[kept])
        held.append(own[~kept])
    train, left = np.concatenate(told), np.concatenate(held)
    told.clear()
    rng.shuffle(train)
    rng.shuffle(left)
    count = min(HELD, len(left) // 2)
    return University(kinds, train, left[:count], left[count : 2 * count])


def _relations(
    kinds: dict[str, int], rng: np.random.Generator
) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
    """The pairs of each relation, as heads and tails; some stand twice."""
    first = dict(zip(kinds, np.cumsum([0, *kinds.values()]).tolist(), strict=False))

    def everyone(kind: str) -> np.ndarray:
        return np.arange(first[kind], first[kind] + kinds[kind])

    def home(kind: str, each: int) -> np.ndarray:
        return np.arange(kinds[kind]) // each

    def drawn(kind: str, each: int, of: np.ndarray) -> np.ndarray:
        """Someone of a kind in each department."""
        return np.asarray(first[kind] + of * each + rng.integers(0, each, len(of)))

    def university_of(department: np.ndarray) -> np.ndarray:
        return np.asarray(first["university"] + department // DEPARTMENTS)

    student_home, professor_home = home("student", STUDENTS), home("professor", PROFESSORS)
    yield "part_of", (everyone("department"), university_of(np.arange(kinds["department"])))
    yield "works_for", (everyone("professor"), first["department"] + professor_home)
    yield "member_of", (everyone("student"), first["department"] + student_home)
    several = np.repeat(everyone("student"), TAKEN)
    taken = drawn("course", COURSES, np.repeat(student_home, TAKEN))
    yield "takes", (several, taken)
    teacher = drawn("professor", PROFESSORS, home("course", COURSES))
    yield "teaches", (teacher, everyone("course"))
    yield "advisor", (
        everyone("student")[::2], drawn("professor", PROFESSORS, student_home)[::2]
    )  # fmt: skip
    writers = drawn("professor", PROFESSORS, np.repeat(home("paper", PAPERS), AUTHORS))
    yield "author", (np.repeat(everyone("paper"), AUTHORS), writers)
    # What the rules derive: of every course the one who teaches it, of a department its university.
    yield "studies_at", (everyone("student"), university_of(student_home))
    yield "employed_at", (everyone("professor"), university_of(professor_home))
    yield "taught_by", (several, teacher[taken - first["course"]])
    yield "coauthor", _pairs(writers)


def _pairs(writers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two different authors of one paper, both ways round."""
    of_paper = writers.reshape(-1, AUTHORS)
    both = [of_paper[:, [i, j]] for i in range(AUTHORS) for j in range(AUTHORS) if i != j]
    pairs = np.concatenate(both)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return pairs[:, 0], pairs[:, 1]


def write(graph: University, folder: Path) -> None:
    """The graph as train.tsv, valid.tsv, test.tsv and rules.pl."""
    folder.mkdir(parents=True, exist_ok=True)
    names, relations = _entity_names(graph.kinds), _column([*RELATIONS])
    for split in ("train", "valid", "test"):
        triples = getattr(graph, split)
        with open(folder / f"{split}.tsv", "wb") as file:
            for begin in range(0, len(triples), WRITTEN):
                head, relation, tail = graph.columns(triples[begin : begin + WRITTEN])
                between = np.full((len(head), 1), ord("\t"), dtype=np.uint8)
                end = np.full((len(head), 1), ord("\n"), dtype=np.uint8)
                parts = names[head], between, relations[relation], between, names[tail], end
                line = np.concatenate(parts, 1).ravel()
                file.write(line[line != 0].tobytes())
    (folder / "rules.pl").write_text(RULES)


def _column(texts: list[str]) -> np.ndarray:
    """Texts as rows of bytes, with zeros behind them."""
    raw = np.array([text.encode() for text in texts])
    return raw.view(np.uint8).reshape(len(texts), -1)


def _entity_names(kinds: dict[str, int]) -> np.ndarray:
    """`student_17` and so on as rows of bytes, with zeros behind them."""
    width = max(len(f"{kind}_{max(count - 1, 0)}") for kind, count in kinds.items())
    names, at = np.zeros((sum(kinds.values()), width), dtype=np.uint8), 0
    for kind, count in kinds.items():
        prefix = np.frombuffer(f"{kind}_".encode(), dtype=np.uint8)
        names[at : at + count, : len(prefix)] = prefix
        for digits in range(1, len(str(count)) + 1):
            low, high = 10 ** (digits - 1) if digits > 1 else 0, min(10**digits, count)
            number = np.arange(low, high)
            for place in range(digits):
                digit = number // 10 ** (digits - 1 - place) % 10
                names[at + low : at + high, len(prefix) + place] = digit + ord("0")
        at += count
    return names


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
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    print(f"{options.out}: {graph.entities:,} entities, {len(RELATIONS)} relations, "
          f"{len(graph.train):,} / {len(graph.valid):,} / {len(graph.test):,} triples; "
          f"{time.process_time():.1f} CPU s, {peak:.1f} GB")  # fmt: skip


if __name__ == "__main__":
    main()
