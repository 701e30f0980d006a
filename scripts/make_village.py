"""Make the village, the small knowledge graph that ships with the package.

    python scripts/make_village.py

writes train, valid and test triples, rules and their counts to src/deepprooflog/data/village. Four
generations of invented families marry, have children, live in streets and work in shops; streets
lie in quarters, quarters in hamlets, and so on up. Every relation is complete in the world that is
made, so a triple that is in no split is false. The same seed gives the same village on every
version of Python: the only random source is `random.Random.random`.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random

FOLDER = Path(__file__).parents[1] / "src" / "deepprooflog" / "data" / "village"
SEED = 4

Triple = tuple[str, str, str]  # relation, head, tail
World = dict[str, set[tuple[str, str]]]

SURNAMES = [
    "ashgrove", "birkett", "calder", "dunmore", "elphick", "fenwick", "garrow", "hollis",
    "inskip", "jessop", "kettle", "larkin", "merrow", "nettleship", "orchard", "pemble",
]  # fmt: skip
WOMEN = [
    "ada", "bea", "cora", "dora", "edda", "fern", "gerda", "hetty", "ida", "juno", "kit", "lena",
    "mina", "nora", "olive", "petra", "rosa", "sunniva", "thea", "ulla", "vera", "wilma", "yrsa",
    "zita",
]  # fmt: skip
MEN = [
    "abel", "bruno", "caspar", "dirk", "emil", "fritz", "gilbert", "hugo", "ivo", "jasper",
    "klaus", "ludo", "max", "nils", "otto", "paul", "rolf", "simon", "theo", "ulric", "viktor",
    "wim", "york", "zeno",
]  # fmt: skip
TREE = {
    "canton": ["upper_valley", "lower_valley"],
    "upper_valley": ["millbrook", "stonyford"],
    "lower_valley": ["reedmere"],
    "millbrook": ["mill_quarter", "church_quarter"],
    "stonyford": ["bridge_quarter"],
    "reedmere": ["harbour_quarter", "field_quarter"],
    "mill_quarter": ["weir_lane", "flour_street", "wheel_row"],
    "church_quarter": ["bell_street", "yew_lane", "canon_row"],
    "bridge_quarter": ["arch_street", "toll_lane"],
    "harbour_quarter": ["rope_walk", "net_lane", "salt_street"],
    "field_quarter": ["barley_lane", "plough_street"],
}
SHOPS = [
    "bakery", "smithy", "mill", "school", "inn", "dairy", "chandlery", "cooperage", "tannery",
    "printworks", "boatyard", "apothecary",
]  # fmt: skip

# The share of each relation's triples that is left in train; the rest is valid and test, 1 to 2.
KEPT = {"ancestor": 0.45, "within": 0.45, "uncle": 0.6, "aunt": 0.6}
KEPT_ELSE = 0.8

RULES = """
husband(X, Y) :- wife(Y, X).
wife(X, Y) :- husband(Y, X).
father(X, Y) :- husband(X, Z), mother(Z, Y).
mother(X, Y) :- wife(X, Z), father(Z, Y).
brother(X, Y) :- brother(X, Z), sister(Z, Y).
uncle(X, Y) :- brother(X, Z), father(Z, Y).
uncle(X, Y) :- brother(X, Z), mother(Z, Y).
uncle(X, Y) :- husband(X, Z), aunt(Z, Y).
aunt(X, Y) :- sister(X, Z), father(Z, Y).
aunt(X, Y) :- sister(X, Z), mother(Z, Y).
aunt(X, Y) :- wife(X, Z), uncle(Z, Y).
ancestor(X, Y) :- father(X, Y).
ancestor(X, Y) :- mother(X, Y).
ancestor(X, Z) :- father(X, Y), ancestor(Y, Z).
ancestor(X, Z) :- mother(X, Y), ancestor(Y, Z).
lives_in(X, P) :- wife(X, Y), lives_in(Y, P).
lives_in(X, P) :- husband(X, Y), lives_in(Y, P).
works_at(X, P) :- father(Y, X), works_at(Y, P).
within(X, Y) :- part_of(X, Y).
within(X, Z) :- part_of(X, Y), within(Y, Z).
""".strip().splitlines()


class Maker:
    """One world as it grows."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.mother: dict[str, str] = {}
        self.father: dict[str, str] = {}
        self.wife: dict[str, str] = {}  # of each husband
        self.women: list[str] = []
        self.men: list[str] = []
        self.home: dict[str, str] = {}
        self.work: dict[str, str] = {}

    def below(self, count: int) -> int:
        return int(self.random.random() * count)

    def person(self, surname: str, female: bool) -> str:
        taken = self.women if female else self.men
        free = [n for n in (WOMEN if female else MEN) if f"{n}_{surname}" not in taken]
        name = f"{free[self.below(len(free))]}_{surname}"
        taken.append(name)
        return name

    def marry(self, women: list[str], men: list[str]) -> list[tuple[str, str]]:
        """Couples of one generation, no siblings or cousins among them."""
        couples = []
        free = list(men)
        for woman in women:
            fit = [man for man in free if not self.kin(woman) & self.kin(man)]
            if fit and self.random.random() < 0.9:
                man = fit[self.below(len(fit))]
                free.remove(man)
                self.wife[man] = woman
                couples.append((woman, man))
        return couples

    def kin(self, person: str) -> set[str]:
        """A person, the parents and the grandparents."""
        found = {person}
        for _ in range(2):
            found |= {p for of in (self.mother, self.father) for c in found if (p := of.get(c))}
        return found

    def grow(self) -> None:
        streets = [s for q, inside in TREE.items() if q.endswith("_quarter") for s in inside]
        women = [self.person(s, True) for s in SURNAMES]
        men = [self.person(s, False) for s in SURNAMES[1:] + SURNAMES[:1]]
        for generation in range(4):
            couples = self.marry(women, men)
            women, men = [], []
            for woman, man in couples:
                if generation == 3:
                    break
                for _ in range(1 + self.below(4)):
                    female = self.random.random() < 0.5
                    child = self.person(man.split("_")[1], female)
                    self.mother[child], self.father[child] = woman, man
                    (women if female else men).append(child)
        for man, woman in self.wife.items():
            self.home[man] = self.home[woman] = streets[self.below(len(streets))]
        for one in self.women + self.men:
            self.home.setdefault(one, streets[self.below(len(streets))])
        # Fathers before their children, who may follow them into the shop.
        for man in self.men:
            self.hire(man)
        for woman in self.women:
            self.hire(woman)

    def hire(self, one: str) -> None:
        chance = self.random.random()
        shop = self.work.get(self.father.get(one, ""))
        if shop is not None and chance < 0.5:
            self.work[one] = shop
        elif chance < 0.8:
            self.work[one] = SHOPS[self.below(len(SHOPS))]


def world(maker: Maker) -> World:
    """Everything that is true."""
    father = {(f, c) for c, f in maker.father.items()}
    mother = {(m, c) for c, m in maker.mother.items()}
    husband = set(maker.wife.items())
    wife = {(w, h) for h, w in husband}
    siblings = {
        (a, b)
        for (a, f), (b, g) in product(maker.father.items(), repeat=2)
        if f == g and maker.mother[a] == maker.mother[b] and a != b
    }
    men = set(maker.men)
    parent = father | mother
    beside = {(a, c) for a, b in siblings for p, c in parent if p == b}
    beside |= {(x, c) for x, y in husband | wife for z, c in beside if z == y}
    ancestor = closure(parent)
    part_of = {(inner, outer) for outer, inside in TREE.items() for inner in inside}
    streets = [inner for inner, outer in sorted(part_of) if outer.endswith("_quarter")]
    part_of |= {(shop, streets[i % len(streets)]) for i, shop in enumerate(SHOPS)}
    return {
        "father": father,
        "mother": mother,
        "husband": husband,
        "wife": wife,
        "brother": {(a, b) for a, b in siblings if a in men},
        "sister": {(a, b) for a, b in siblings if a not in men},
        "uncle": {(a, b) for a, b in beside if a in men},
        "aunt": {(a, b) for a, b in beside if a not in men},
        "ancestor": ancestor,
        "lives_in": set(maker.home.items()),
        "works_at": set(maker.work.items()),
        "part_of": part_of,
        "within": closure(part_of),
    }


def closure(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    found = set(pairs)
    while True:
        more = {(a, d) for a, b in pairs for c, d in found if b == c} - found
        if not more:
            return found
        found |= more


def split(maker: Maker, truths: World) -> dict[str, list[Triple]]:
    """Train, valid and test; every entity stays in train."""
    parts: dict[str, list[Triple]] = {"train": [], "valid": [], "test": []}
    held: list[Triple] = []
    for relation, pairs in truths.items():
        for head, tail in sorted(pairs):
            # What lies in what is given whole: without it nothing says where a street is.
            kept = 1.0 if relation == "part_of" else KEPT.get(relation, KEPT_ELSE)
            chosen = parts["train"] if maker.random.random() < kept else held
            chosen.append((relation, head, tail))
    seen = {entity for triple in parts["train"] for entity in triple[1:]}
    for triple in held:
        if not seen.issuperset(triple[1:]):
            parts["train"].append(triple)
            seen.update(triple[1:])
        else:
            parts["valid" if maker.random.random() < 1 / 3 else "test"].append(triple)
    return parts


def confidence(rule: str, truths: World) -> float:
    """The share of a rule's conclusions from true facts that are true."""
    head, body = ([atom(a) for a in side.split("),")] for side in rule.split(":-"))
    frames: list[dict[str, str]] = [{}]
    for relation, x, y in body:
        frames = [
            {**frame, x: a, y: b}
            for frame in frames
            for a, b in truths[relation]
            if frame.get(x, a) == a and frame.get(y, b) == b
        ]
    relation, x, y = head[0]
    concluded = {(frame[x], frame[y]) for frame in frames}
    return len(concluded & truths[relation]) / len(concluded)


def atom(text: str) -> Triple:
    relation, arguments = text.strip(" .)").split("(")
    x, y = arguments.split(", ")
    return relation, x, y


def main() -> None:
    maker = Maker(SEED)
    maker.grow()
    truths = world(maker)
    for name, triples in split(maker, truths).items():
        lines = [f"{relation}({head},{tail}).\n" for relation, head, tail in triples]
        (FOLDER / f"{name}.pl").write_text("".join(lines), encoding="utf-8")
    lines = [f"{round(confidence(rule, truths), 3)} :: {rule}\n" for rule in RULES]
    head = "% A label is the share of the rule's conclusions that hold in the whole village.\n"
    (FOLDER / "rules.pl").write_text(head + "".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
