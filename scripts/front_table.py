"""Write the table of figures of README.md from the recipes' [measured] and [reported].

python scripts/front_table.py            # print the table
python scripts/front_table.py --write    # write it into README.md, between its two marks
"""

from __future__ import annotations

import argparse
import re
import runpy
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

from deepprooflog.recipes.recipe import read_recipe

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "README.md"
MARKED = re.compile(r"(?<=<!-- figures -->\n).*?(?=<!-- end of figures -->)", re.DOTALL)
NS = (4, 15, 100, 200, 500)
RESULTS = runpy.run_path(str(ROOT / "scripts" / "results_page.py"))
shown, as_published, line = RESULTS["shown"], RESULTS["as_published"], RESULTS["line"]


def lines() -> Iterator[str]:
    """The table, and what must be known to read it."""
    family, words = read_recipe("family-dprl"), read_recipe("wn18rr-dprl")
    yield line(["", "here", "embedding alone", "the paper"])
    yield "|---|---|---|---|"
    yield ranking("Family, MRR", family.measured, family.reported, "mrr")
    full = next(row for row in family.rows if row["measured"]["protocol"] == "full")
    among = "Family among all entities, walks and mined rules, MRR"
    yield ranking(among, read_recipe("family-everything").measured, {}, "mrr")
    yield ranking("WN18RR, MRR", words.measured, words.reported, "mrr")
    for name, recipe in (("WN18RR", "wn18rr-everything"), ("FB15k-237", "fb15k237-everything")):
        standard = f"{name}, standard split, among all entities, MRR"
        yield ranking(standard, read_recipe(recipe).measured, {}, "mrr")
    sums = read_recipe("mnist-addition")
    for n in NS:
        case = sums.case("dp", n)
        found, theirs = case["measured"], case["reported"]
        ours = f"{percent(found['sums'])}, regrouped {percent(found['regrouped'])}"
        paper = f"{theirs['accuracy']:.1f} ± {theirs['spread']:.1f}"
        yield line([f"sums of two numbers of {n} MNIST digits, %", ours, "", paper])
    yield ""
    other = as_published(full["published"][0]["mrr"])
    belief, proofs = (shown(words.measured[part]["mrr"]) for part in ("belief", "proofs"))
    plain = read_recipe("mnist-addition-plain")
    bare = [percent(plain.case("dp", n)["measured"]["sums"]) for n in NS[:2]]
    said = (
        "Five seeds; of large graphs, and Family among all, seed 0. Ranks: among 100 sampled",
        f"negatives a side, the paper's 200. On all of Family AnyBURL has {other}. On WN18RR",
        f"belief that weighs facts has {belief} without proofs, proofs alone {proofs}. From",
        f"pictures not distorted, 4 and 15 digits have {bare[0]} and {bare[1]}.",
        "[All figures](docs/results.md).",
    )
    yield fill(" ".join(said), 116, break_long_words=False, break_on_hyphens=False)


def ranking(
    title: str, measured: Mapping[str, Any], reported: Mapping[str, Any], figure: str
) -> str:
    """One line of a graph's figure."""
    alone = measured.get("prior", {}).get(figure)
    return line([title, shown(measured[figure]), shown(alone), as_published(reported.get(figure))])


def percent(figure: Mapping[str, float]) -> str:
    """A share of sums in percent.

    >>> percent({"mean": 96.16, "spread": 0.5})
    '96.2 ± 0.5'
    """
    return f"{figure['mean']:.1f} ± {figure['spread']:.1f}"


def table() -> str:
    """What stands between the marks."""
    return "\n".join(lines()) + "\n"


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write it into README.md")
    if parser.parse_args().write:
        PAGE.write_text(
            MARKED.sub(lambda _: f"\n{table()}\n", PAGE.read_text("utf-8")), encoding="utf-8"
        )
    else:
        print(table(), end="")


if __name__ == "__main__":
    main()
