"""e_G for batches of goals as numbers, with the parameters of an `Embedding` scorer.

    e_A = f_atom(e_r, e_t₁, …, e_tₙ)        e_G = f_agg(e_A₁, …, e_Aₘ)
    p_λ(G' | G) = exp(e_G · e_G') / Σ over G'' in N(G) of exp(e_G · e_G'')

The same numbers as `scorer.embed` and `scorer.log_weights` give for the goals as terms, without a
term in sight: predicates and constants are numbered by a database, and one table says which row of
the scorer's parameters each has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepprooflog.score.embedding.aggregate import aggregate_rows
from deepprooflog.score.embedding.atoms import atoms_of_rows
from deepprooflog.score.embedding.embedding import Embedding
from deepprooflog.score.embedding.encoders import WIDTH, number_features
from deepprooflog.score.embedding.terms import VARIABLES
from deepprooflog.score.embedding.vocabulary import NumberSymbol
from deepprooflog.score.segments import distinct_rows
from deepprooflog.score.transitions import PAD, LogPolicy, SymbolNames, Transitions
from deepprooflog.syntax.terms import NIL, Atom, Str, Term
from deepprooflog.syntax.terms import Float as PrologFloat


@dataclass(frozen=True)
class NumberedRows:
    """Where the vectors of a database's symbols are: in the variables, then e_v, then the numbers.

    A term's *code* is its variable's number, those from the last one on alike, or its constant's
    number after them; `terms` has the row of each code, its last entry that of any beyond.
    """

    arities: Int[Tensor, " predicates"]
    predicates: Int[Tensor, " predicates"]  # rows of e_v
    terms: Int[Tensor, " codes"]
    features: Float[Tensor, "numbers width"]
    widest: int
    distinct_arities: tuple[int, ...]
    count: int  # of rows
    alike: bool  # whether constants share a row


def rows(scorer: Embedding, symbols: SymbolNames) -> NumberedRows:
    """The table for a database's symbols, on the scorer's device; made once.

    What the scorer's program does not have is embedded as `<unk>`, with a warning for each symbol.
    """
    known, first_number = scorer.vocabulary, VARIABLES + len(scorer.vocabulary)
    terms = list(range(VARIABLES))
    features: list[list[float]] = []
    constants: Sequence[Term] = symbols.constants
    if known.has_numbers and known.shares_constants:
        # All have one row but `[]`: constants beyond the table have its last one.
        nil = symbols.constant_numbers.get(NIL)
        alike = VARIABLES + known.row(Atom("anyone"))
        if nil is not None:
            terms += [*[alike] * nil, VARIABLES + known.row(NIL)]
        terms.append(alike)
        constants = ()
    for constant in constants:
        if known.has_numbers or isinstance(constant, Atom | Str):
            assert isinstance(constant, Atom | Str | NumberSymbol)
            terms.append(VARIABLES + known.row(constant))
        else:
            assert isinstance(constant, int | PrologFloat)
            terms.append(first_number + len(features))
            value = constant if isinstance(constant, int) else constant.value
            features.append(number_features(value))
    arities = [functor.arity for functor in symbols.predicates]
    device = scorer.device
    return NumberedRows(
        arities=torch.tensor(arities, dtype=torch.int64, device=device),
        predicates=torch.tensor(
            [known.row(functor) for functor in symbols.predicates],
            dtype=torch.int64,
            device=device,
        ),
        terms=torch.tensor(terms, dtype=torch.int64, device=device),
        features=torch.tensor(features, dtype=torch.float64, device=device).view(-1, WIDTH),
        widest=max(arities, default=0),
        distinct_arities=tuple(sorted(set(arities))),
        count=first_number + len(features),
        alike=known.shares_constants,
    )


@dataclass(frozen=True)
class Vectors:
    """e_G of some goals, those that the scorer cannot tell apart only once."""

    distinct: Float[Tensor, "distinct dim"]
    number: Int[Tensor, " goals"]  # which of them is a goal's

    def __getitem__(self, goals: slice) -> Vectors:
        return Vectors(self.distinct, self.number[goals])

    @property
    def each(self) -> Float[Tensor, "goals dim"]:
        """The vector of each goal."""
        return self.distinct.index_select(0, self.number)


class EmbeddedGoals(Transitions[Vectors]):
    """An `Embedding` on the goals of a database."""

    normalises = True

    def __init__(self, scorer: Embedding, symbols: SymbolNames) -> None:
        self.scorer = scorer
        self.false_action = scorer.false_action
        self.table = rows(scorer, symbols)
        # `[]` has a row of its own among constants that share one.
        self.alike = self.table.alike and bool((self.table.terms[VARIABLES:].diff() == 0).all())

    def view(self, atoms: Int[Tensor, "goals atoms columns"]) -> Vectors:
        """e_G; True has a vector of its own.

        Where constants are alike, goals that differ in constants only are embedded once.
        """
        table, (count, width) = self.table, atoms.shape[:2]
        if not table.alike or not count or not width:
            return Vectors(self._embed(atoms), torch.arange(count, device=atoms.device))
        flat = atoms.flatten(0, 1)
        # PAD, the predicate of an atom that is not there, counts as one more.
        kinds = distinct_rows(_parts(table, flat[:, 0] + 1, flat), _sizes(table))
        patterns = distinct_rows(kinds.number.view(count, width), [len(kinds)] * width)
        return Vectors(self._embed(atoms.index_select(0, patterns.member)), patterns.number)

    def log_weights(
        self,
        here: Vectors,
        after: Vectors,
        source: Int[Tensor, " steps"],
        target: Int[Tensor, " steps"] | None,
        clause: Int[Tensor, " steps"],
        *,
        false: bool,
    ) -> LogPolicy:
        """e_G · e_G' and e_G · e_False; equal pairs of vectors are multiplied once."""
        one, other = here.number[source], after.number
        other = other if target is None else other[target]
        if len(here.distinct) * len(after.distinct) <= len(source):
            products = (here.distinct @ after.distinct.T).flatten()
            products = products.index_select(0, one * len(after.distinct) + other)
        else:
            products = (here.distinct[one] * after.distinct[other]).sum(-1)
        own = torch.full_like(here.number, -torch.inf, dtype=torch.float64)
        if false:
            own = self.scorer.log_false(here.distinct)[here.number]
        return LogPolicy(products.double() / self.scorer.temperature, own)

    def _embed(self, atoms: Int[Tensor, "goals atoms columns"]) -> Float[Tensor, "goals dim"]:
        scorer, (count, width) = self.scorer, atoms.shape[:2]
        if not width:
            return scorer.scaled(scorer.true).expand(count, -1)
        present = atoms[..., 0] != PAD
        vectors, index = _atoms(scorer, self.table, atoms, present)
        found = aggregate_rows(scorer.f_agg, vectors, index, present)
        is_true = ~present[:, :1]
        return torch.where(is_true, scorer.scaled(scorer.true), scorer.scaled(found))


# -- atoms -----------------------------------------------------------------------------------------


def _atoms(
    scorer: Embedding,
    table: NumberedRows,
    atoms: Int[Tensor, "goals width columns"],
    present: Bool[Tensor, "goals width"],
) -> tuple[Float[Tensor, "atoms dim"], Int[Tensor, "goals width"]]:
    """The vectors of the atoms, and where each is; one past the last where there is no atom.

    On a CPU each distinct atom is embedded once: sorting is cheaper there than f_atom.
    """
    own = present.flatten().nonzero().squeeze(1)
    number = present.flatten().cumsum(0) - 1
    found = atoms.flatten(0, 1)[own]
    parts = _parts(table, found[:, 0], found)
    if atoms.device.type == "cpu" and len(parts):
        kept = distinct_rows(parts, _sizes(table))
        parts = parts[kept.member]
        number = kept.number[number.clamp_min(0)]
    vectors = _by_arity(scorer, table, parts[:, 0], parts[:, 1:])
    index = torch.where(present, number.view(present.shape), len(vectors))
    return vectors, index


def _parts(
    table: NumberedRows, predicate: Int[Tensor, " atoms"], atoms: Int[Tensor, "atoms columns"]
) -> Int[Tensor, "atoms parts"]:
    """The predicate of each atom, and the rows of its terms; any where it has no such argument."""
    arguments = atoms[:, 1 : 1 + table.widest]
    variable = (-2 - arguments).clamp(0, VARIABLES - 1)
    code = torch.where(arguments < 0, variable, arguments + VARIABLES).long()
    code = code.clamp(max=len(table.terms) - 1)
    return torch.cat([predicate.long()[:, None], table.terms[code]], 1)


def _sizes(table: NumberedRows) -> list[int]:
    """Bounds of an atom's parts."""
    return [1 + len(table.arities), *[table.count] * table.widest]


def _by_arity(
    scorer: Embedding,
    table: NumberedRows,
    predicate: Int[Tensor, " atoms"],
    arguments: Int[Tensor, "atoms arity"],
) -> Float[Tensor, "atoms dim"]:
    parts: list[Tensor] = [scorer.terms.variables, scorer.terms.symbols]
    if len(table.features):
        parts.append(scorer.terms.number(table.features.to(scorer.true)))
    vectors = torch.cat(parts)
    found = torch.cat([VARIABLES + table.predicates[predicate][:, None], arguments], 1)
    if len(table.distinct_arities) == 1:
        return atoms_of_rows(scorer.f_atom_for(arguments.shape[1]), vectors, found)
    result = vectors.new_zeros((len(found), vectors.shape[1]))
    arity = table.arities[predicate]
    for n in table.distinct_arities:
        mine = (arity == n).nonzero().squeeze(1)
        made = atoms_of_rows(scorer.f_atom_for(n), vectors, found[mine, : 1 + n])
        result = result.index_copy(0, mine, made)
    return result
