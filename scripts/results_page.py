"""Write docs/results.md: every figure of the recipes beside what is published, in one table.

    python scripts/results_page.py            # print the page
    python scripts/results_page.py --write    # write docs/results.md

The page holds nothing of its own: figures, commands, seeds, machines and notes are those of the
recipes' [reported], [measured], [[published]] and [[row]] blocks (`deepprooflog.recipes.recipe`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from deepprooflog.recipes.recipe import PARTS, Recipe, read_recipe, shipped

PAGE = Path(__file__).parents[1] / "docs" / "results.md"
FIGURES = {
    "mrr": "MRR", "hits@1": "Hits@1", "hits@3": "Hits@3", "hits@10": "Hits@10", "auc_pr": "AUC-PR",
}  # fmt: skip
GRAPHS = {
    "family": "Family, the paper's split: 2,968 people, 12 relations, 5,626 test triples",
    "wn18rr": "WN18RR, the paper's split: 40,559 synsets, 11 relations, 2,924 test triples",
    "wn18rr_standard": "WN18RR, the standard split: 3,134 test triples",
    "fb15k237_standard": "FB15k-237, the standard split: 20,466 test triples",
    "grail": "GraIL: trained on one graph, asked about another with other entities",
    "umls": "UMLS",
    "countries": "Countries: 24 test countries among five regions",
    "village": "The village, a graph that comes with the package: 182 people and places",
}
"""Of the name of a data set, or what its name begins with."""
SHORT = 0.01
"""By how much a figure may be below a published one before a note must say why."""
PAPER = "Jiao et al. 2026"

HEAD = f"""# Results

Every figure that a recipe gave, beside what is published for the same question. The page is
written by `python scripts/results_page.py --write` from the recipes' `[measured]`, `[reported]` and
`[[published]]` (`src/deepprooflog/recipes/*.toml`), and a test holds it to them. The number before
a row is that of its command below the table; RUN is any folder.

- Ranks are filtered, ties count with the average rank. *Sampled* draws negatives for each side of
  each triple, *full* ranks among all entities.
- The first line of a row is the recipe's whole score; *prior alone* is the embedding, *belief
  alone* the embedding and the numbers of facts, *proofs alone* rules or walks without either,
  *rules alone* the rules that are read beside walks. Lines in italics are published figures.
- ± is the standard deviation over the seeds. *Not measured* means that: the recipe stands, nobody
  has run it.
- Where ours is more than {SHORT:.2f} below a published figure, the note says by how much and why.
- {PAPER} is the paper of this library's semantics; it ranks against 200 negatives a side.

"""


@dataclass(frozen=True)
class ResultRow:
    """One question to one recipe: what it gave, and what others give."""

    recipe: str
    data: str
    title: str
    reported: Mapping[str, Any]
    measured: Mapping[str, Any]
    published: Sequence[Mapping[str, Any]]

    @property
    def is_measured(self) -> bool:
        """Whether there are figures."""
        return bool(self.measured) and "none" not in self.measured

    def others(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Published figures with their sources, the paper's first."""
        own = (
            []
            if "source" not in self.reported
            else [(f"{PAPER}, {self.reported['source']}", self.reported)]
        )
        return [*own, *((each["source"], each) for each in self.published)]

    def shortfalls(self) -> list[str]:
        """By how much the whole score is below published figures, where that is more than SHORT."""
        found = []
        for source, figures in self.others():
            for key, name in FIGURES.items():
                if key not in figures or key not in self.measured:
                    continue
                short = _mean(figures[key]) - _mean(self.measured[key])
                if short > SHORT:
                    found.append(f"{name} {_digits(short, 3)} below {source}")
        return found


def _mean(figure: Any) -> float:
    return float(figure["mean"] if isinstance(figure, Mapping) else figure)


def _digits(value: float, digits: int) -> str:
    return f"{value:.{digits}f}".removeprefix("0")


def shown(figure: Any, digits: int = 4) -> str:
    """A figure as the tables write it.

    >>> shown({"mean": 0.9939, "spread": 0.0002}), shown(0.986, 3), shown(None)
    ('.9939 ± .0002', '.986', '')
    """
    if figure is None:
        return ""
    spread = figure.get("spread") if isinstance(figure, Mapping) else None
    text = _digits(_mean(figure), digits)
    return text if spread is None else f"{text} ± {_digits(spread, digits)}"


def as_published(figure: float | None) -> str:
    """A published figure with the digits it has, three at least.

    >>> as_published(0.9825), as_published(0.99)
    ('.9825', '.990')
    """
    return "" if figure is None else shown(figure, max(3, len(str(figure)) - 2))


def digits_of(figures: Mapping[str, Any]) -> int:
    """How many digits the figures of a block have: three where none has a fourth.

    >>> digits_of({"mrr": {"mean": 0.729}, "hits@1": {"mean": 0.7}}), digits_of({"mrr": 0.9881})
    (3, 4)
    """
    means = [_mean(figures[key]) for key in FIGURES if key in figures]
    return 3 if all(round(mean, 3) == mean for mean in means) else 4


def seeds_of(measured: Mapping[str, Any]) -> str:
    """Which seeds: 0, or 0 to 4."""
    seeds = measured["seeds"]
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"


def seconds_of(seconds: object) -> str:
    """A number, a range, or what is said instead of one."""
    if isinstance(seconds, list):
        return " to ".join(map(str, seconds))
    return str(seconds)


def rows_of(recipe: Recipe) -> Iterator[ResultRow]:
    """The rows of a graph's recipe."""
    data = str(recipe.options.get("data", ""))
    title = recipe.about.split(": ", 1)[-1]
    yield ResultRow(recipe.name, data, title, recipe.reported, recipe.measured, recipe.published)
    for row in recipe.rows:
        blocks = row.get("reported", {}), row.get("measured", {}), row.get("published", ())
        yield ResultRow(recipe.name, data, row["name"], *blocks)


def every_row() -> list[ResultRow]:
    """The rows of all shipped recipes of graphs, by graph."""
    recipes = [read_recipe(name) for name in shipped()]
    rows = [row for one in recipes if not one.cases and "data" in one.options
            and one.task != "mnist-addition" for row in rows_of(one)]  # fmt: skip
    order = {name: place for place, name in enumerate(GRAPHS)}
    return sorted(rows, key=lambda row: order[graph_of(row.data)])


def graph_of(data: str) -> str:
    """The entry of GRAPHS of a data set's name.

    >>> graph_of("grail/WN18RR_v1"), graph_of("wn18rr_standard")
    ('grail', 'wn18rr_standard')
    """
    return max((name for name in GRAPHS if data.startswith(name)), key=len)


def line(cells: Sequence[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def block(number: int, row: ResultRow, machines: list[str]) -> Iterator[str]:
    """The lines of one row: the whole, its parts, what is published."""
    label = f"**{number}** `{row.recipe}`: {row.title}"
    if not row.is_measured:
        yield line([label, *("" for _ in FIGURES), "", "", "not measured"])
    else:
        found = row.measured
        if found["device"] not in machines:
            machines.append(found["device"])
        where = machine_name(machines.index(found["device"]))
        protocol = f"; {found['protocol']}" if "protocol" in found else ""
        digits = digits_of(found)
        figures = [shown(found.get(key), digits) for key in FIGURES]
        seconds = found["seconds"]
        briefly = seconds_of(seconds) if not isinstance(seconds, str) else "see below"
        yield line([label + protocol, *figures, seeds_of(found), briefly, where])
        for part in PARTS:
            if part in found:
                alone = [shown(found[part].get(key), digits) for key in FIGURES]
                yield line([f"{part} alone", *alone, "", "", ""])
    for source, figures_of in row.others():
        theirs = [as_published(figures_of.get(key)) for key in FIGURES]
        yield line([f"*{source}*", *theirs, "", "", ""])


def machine_name(place: int) -> str:
    """A letter for a machine."""
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[place]


def note(row: ResultRow) -> str:
    """Command and notes of one row."""
    found = row.measured
    if not row.is_measured:
        return f"Not measured: {found.get('none', 'no reason is given')}."
    said = [f"`{found['command']}`"]
    if isinstance(found["seconds"], str):
        said.append(f"Seconds: {found['seconds']}.")
    short = row.shortfalls()
    if short:
        said.append(f"{'; '.join(short)}: {found.get('note', 'no reason is given')}.")
    elif "note" in found:
        said.append(f"{found['note'][0].upper()}{found['note'][1:]}.")
    return "<br>".join([said[0], " ".join(said[1:])]) if said[1:] else said[0]


def notes(rows: Sequence[ResultRow]) -> Iterator[str]:
    """The notes of all rows, by number; neighbours that say the same together."""
    number = 1
    for text, alike in groupby(rows, key=note):
        last = number + len(list(alike)) - 1
        yield f"- **{number}**{f' to **{last}**' if last > number else ''}: {text}"
        number = last + 1


def graph_table(rows: Sequence[ResultRow]) -> Iterator[str]:
    """The table of graphs, its machines, commands and notes."""
    machines: list[str] = []
    yield line(["", *FIGURES.values(), "seeds", "seconds", "on"])
    yield "|" + "---|" * (len(FIGURES) + 4)
    graph = ""
    for number, row in enumerate(rows, 1):
        if graph_of(row.data) != graph:
            graph = graph_of(row.data)
            yield line([f"**{GRAPHS[graph]}**", *("" for _ in range(len(FIGURES) + 3))])
        yield from block(number, row, machines)
    yield ""
    yield "Machines:"
    yield ""
    for place, machine in enumerate(machines):
        yield f"- {machine_name(place)}: {machine}"
    yield "\n### Commands and notes\n"
    yield from notes(rows)


def sums_table() -> Iterator[str]:
    """Sums of pictures, by recipe, method and n."""
    columns = ["", "n", "sums, file order", "sums, regrouped", "digits", f"*{PAPER}, Table 1*"]
    yield line([*columns, "seeds", "seconds", "*their minutes*"])
    yield "|" + "---|" * (len(columns) + 3)
    commands = []
    for recipe in (read_recipe(name) for name in shipped()):
        if recipe.task != "mnist-addition":
            continue
        shared = recipe.measured
        seconds = shared.get("seconds")
        said = f"; seconds {seconds}" if isinstance(seconds, str) else ""
        said += f". {shared['note']}" if "note" in shared else ""
        commands.append(f"- `{shared['command']}`: {shared['device']}{said}")
        alone = {"method": recipe.options["method"], "n": recipe.options["n"], "measured": shared}
        for case in recipe.cases or (alone,):
            yield line(sums_cells(recipe, case))
    yield ""
    yield from commands


def sums_cells(recipe: Recipe, case: Mapping[str, Any]) -> list[str]:
    """One line of the table of sums."""
    found, theirs, shared = case["measured"], case.get("reported", {}), recipe.measured
    seconds = found.get("seconds", shared.get("seconds"))
    figures = (found[key] for key in ("sums", "regrouped", "digits"))
    return [
        f"`{recipe.name}`, {case['method']}", str(found.get("n", case["n"])),
        *(f"{figure['mean']:.2f} ± {figure['spread']:.2f}" for figure in figures),
        f"{theirs['accuracy']} ± {theirs['spread']}" if theirs else "", seeds_of(shared),
        "" if isinstance(seconds, str) else seconds_of(seconds), str(theirs.get("minutes", "")),
    ]  # fmt: skip


def page() -> str:
    """All of docs/results.md."""
    rows = every_row()
    parts = [HEAD + "## Graphs\n", *graph_table(rows),
             "\n## Sums of pictures\n",
             "Accuracy in percent; see [mnist-addition.md](mnist-addition.md).\n",
             *sums_table()]  # fmt: skip
    return "\n".join(parts) + "\n"


def main() -> None:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--write", action="store_true", help=f"write {PAGE.name} instead of printing"
    )
    if parser.parse_args().write:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")


if __name__ == "__main__":
    main()
