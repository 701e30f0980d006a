"""e_G for batches of relational goals, with the parameters of an `Embedding` scorer.

    e_A = f_atom(e_r, e_t₁, …, e_tₙ)        e_G = f_agg(e_A₁, …, e_Aₘ)
    p_λ(G' | G) = exp(e_G · e_G') / Σ over G'' in N(G) of exp(e_G · e_G'')

The same numbers as `scorer.embed` and `scorer.log_weights` give for the goals as terms, without a
term in sight: predicates and constants are numbered by the database, and one table says which row
of the scorer's parameters each has.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from deepprooflog.relational.distinct import distinct_rows
from deepprooflog.relational.goals import PAD, Goals
from deepprooflog.relational.symbols import Symbols
from deepprooflog.score.aggregate import Mean, Sum
from deepprooflog.score.atoms import Mlp
from deepprooflog.score.embedding import Embedding
from deepprooflog.score.numbers import WIDTH, number_features
from deepprooflog.score.segments import segments
from deepprooflog.score.terms import VARIABLES
from deepprooflog.score.vocabulary import Number
from deepprooflog.syntax.terms import Atom, Str
from deepprooflog.syntax.terms import Float as PrologFloat


@dataclass(frozen=True)
class Rows:
    """Where the vectors of a database's symbols are: in the variables, then e_v, then the numbers.

    A term's *code* is its variable's number, those from the last one on alike, or its constant's
    number after them; `terms` has the row of each code.
    """

    arities: Int[Tensor, " predicates"]
    predicates: Int[Tensor, " predicates"]  # rows of e_v
    terms: Int[Tensor, " codes"]
    features: Float[Tensor, "numbers width"]
    widest: int
    distinct_arities: tuple[int, ...]
    count: int  # of rows
    alike: bool  # whether constants share a row

    def to(self, device: torch.device | str) -> Rows:
        """The same table on another device."""
        return Rows(
            self.arities.to(device),
            self.predicates.to(device),
            self.terms.to(device),
            self.features.to(device),
            self.widest,
            self.distinct_arities,
            self.count,
            self.alike,
        )


def rows(scorer: Embedding, symbols: Symbols) -> Rows:
    """The table for a database's symbols, on the scorer's device; made once.

    What the scorer's program does not have is embedded as `<unk>`, with a warning for each symbol.
    """
    known, first_number = scorer.vocabulary, VARIABLES + len(scorer.vocabulary)
    terms = list(range(VARIABLES))
    features: list[list[float]] = []
    for constant in symbols.constants:
        if known.has_numbers or isinstance(constant, Atom | Str):
            assert isinstance(constant, Atom | Str | Number)
            terms.append(VARIABLES + known.row(constant))
        else:
            assert isinstance(constant, int | PrologFloat)
            terms.append(first_number + len(features))
            value = constant if isinstance(constant, int) else constant.value
            features.append(number_features(value))
    arities = [functor.arity for functor in symbols.predicates]
    device = scorer.true.device
    return Rows(
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

    @property
    def each(self) -> Float[Tensor, "goals dim"]:
        """The vector of each goal."""
        return self.distinct.index_select(0, self.number)


def embed(scorer: Embedding, table: Rows, goals: Goals) -> Float[Tensor, "goals dim"]:
    """e_G of each goal; True has a vector of its own."""
    return embed_once(scorer, table, goals).each if table.alike else _embed(scorer, table, goals)


def embed_once(scorer: Embedding, table: Rows, goals: Goals) -> Vectors:
    """e_G, where constants are alike once for all goals that differ in constants only."""
    count, width = goals.atoms.shape[:2]
    if not table.alike or not count or not width:
        every = torch.arange(count, device=goals.device)
        return Vectors(_embed(scorer, table, goals), every)
    atoms = goals.atoms.flatten(0, 1)
    # PAD, the predicate of an atom that is not there, counts as one more.
    kinds = distinct_rows(_parts(table, atoms[:, 0] + 1, atoms), _sizes(table))
    patterns = distinct_rows(kinds.number.view(count, width), [len(kinds)] * width)
    vectors = _embed(scorer, table, goals.select(patterns.member))
    return Vectors(vectors, patterns.number)


def _embed(scorer: Embedding, table: Rows, goals: Goals) -> Float[Tensor, "goals dim"]:
    atoms = goals.atoms
    count, width = atoms.shape[:2]
    present = atoms[..., 0] != PAD
    if not width:
        return _scaled(scorer, scorer.true).expand(count, -1)
    vectors, index = _atoms(scorer, table, atoms, present)
    if isinstance(scorer.f_agg, Sum | Mean):
        found = _total(vectors, index)
        if isinstance(scorer.f_agg, Mean):
            found = found / present.sum(1, keepdim=True).clamp_min(1)
    else:
        found = _aggregated(scorer, vectors, index, present)
    is_true = ~present[:, :1]
    return torch.where(is_true, _scaled(scorer, scorer.true), _scaled(scorer, found))


def _total(
    vectors: Float[Tensor, "atoms dim"], index: Int[Tensor, "goals width"]
) -> Float[Tensor, "goals dim"]:
    """The sum of each goal's atoms; the index one past the last is none."""
    padded = torch.cat([vectors, vectors.new_zeros((1, vectors.shape[1]))])
    return nn.functional.embedding_bag(index, padded, mode="sum")


def _aggregated(
    scorer: Embedding,
    vectors: Float[Tensor, "atoms dim"],
    index: Int[Tensor, "goals width"],
    present: Bool[Tensor, "goals width"],
) -> Float[Tensor, "goals dim"]:
    """f_agg over the goals that have atoms, as the scorer calls it; zero for the others."""
    lengths = present.sum(1)
    mine = (lengths > 0).nonzero().squeeze(1)
    result = vectors.new_zeros((len(index), vectors.shape[1]))
    if not len(mine):
        return result
    parts = segments(lengths[mine].tolist(), vectors.device, backwards=True)
    found = scorer.f_agg(vectors[index[present]].unsqueeze(1), parts)
    return result.index_copy(0, mine, found.squeeze(1))


# -- atoms -----------------------------------------------------------------------------------------


def _atoms(
    scorer: Embedding,
    table: Rows,
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
    table: Rows, predicate: Int[Tensor, " atoms"], atoms: Int[Tensor, "atoms columns"]
) -> Int[Tensor, "atoms parts"]:
    """The predicate of each atom, and the rows of its terms; any where it has no such argument."""
    arguments = atoms[:, 1 : 1 + table.widest]
    variable = (-2 - arguments).clamp(0, VARIABLES - 1)
    code = torch.where(arguments < 0, variable, arguments + VARIABLES).long()
    return torch.cat([predicate.long()[:, None], table.terms[code]], 1)


def _sizes(table: Rows) -> list[int]:
    """Bounds of an atom's parts."""
    return [1 + len(table.arities), *[table.count] * table.widest]


def _by_arity(
    scorer: Embedding,
    table: Rows,
    predicate: Int[Tensor, " atoms"],
    arguments: Int[Tensor, "atoms arity"],
) -> Float[Tensor, "atoms dim"]:
    parts: list[Tensor] = [scorer.terms.variables, scorer.terms.symbols]
    if len(table.features):
        parts.append(scorer.terms.number(table.features.to(scorer.true)))
    vectors = torch.cat(parts)
    found = torch.cat([VARIABLES + table.predicates[predicate][:, None], arguments], 1)
    if len(table.distinct_arities) == 1:
        return _f_atom(scorer, vectors, found)
    result = vectors.new_zeros((len(found), vectors.shape[1]))
    arity = table.arities[predicate]
    for n in table.distinct_arities:
        mine = (arity == n).nonzero().squeeze(1)
        result = result.index_copy(0, mine, _f_atom(scorer, vectors, found[mine, : 1 + n]))
    return result


def _f_atom(
    scorer: Embedding, vectors: Float[Tensor, "rows dim"], found: Int[Tensor, "atoms parts"]
) -> Float[Tensor, "atoms dim"]:
    """f_atom of atoms whose predicate and arguments have these rows."""
    made_for = getattr(scorer.f_atom, "arity", None)
    other = scorer.other_atoms is not None and found.shape[1] - 1 != made_for
    function = scorer.other_atoms if other else scorer.f_atom
    assert function is not None
    if type(function) is Mlp and len(found) > len(vectors):
        return _projected(function, vectors, found)
    result: Tensor = function(vectors[found[:, :1]], vectors[found[:, 1:]].unsqueeze(1))
    return result.squeeze(1)


def _projected(
    mlp: Mlp, vectors: Float[Tensor, "rows dim"], found: Int[Tensor, "atoms parts"]
) -> Float[Tensor, "atoms dim"]:
    """The MLP on many atoms of few symbols: each symbol goes through W₁ once for each place."""
    place = torch.arange(found.shape[1], device=found.device)
    weight = mlp.weight[place.clamp(max=len(mlp.weight) - 1)]
    hidden = (vectors @ weight).flatten(0, 1)
    total = nn.functional.embedding_bag(found + place * len(vectors), hidden, mode="sum")
    result: Tensor = mlp.out(nn.functional.gelu(total + mlp.bias))
    return result


def _scaled(scorer: Embedding, goals: Float[Tensor, "*goals dim"]) -> Float[Tensor, "*goals dim"]:
    return nn.functional.normalize(goals, dim=-1) if scorer.normalize else goals


# -- the policy ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LogPolicy:
    """log p_λ of each successor, and of False; −∞ where it is no choice."""

    steps: Float[Tensor, " successors"]
    false: Float[Tensor, " goals"]


def log_policy(
    scorer: Embedding,
    goals: Float[Tensor, "goals dim"],
    successors: Float[Tensor, "successors dim"],
    parent: Int[Tensor, " successors"],
    *,
    open: Bool[Tensor, " successors"] | None = None,
    false: Bool[Tensor, " goals"] | None = None,
) -> LogPolicy:
    """p_λ(G' | G) over the successors of each goal, from e_G and e_G'.

    Where `open` is false a successor is no choice, and what is left is renormalised. `false` says
    at which goals False is in the sum (None: at all or none, as the scorer has it).
    """
    logits = (goals[parent] * successors).sum(-1).double() / scorer.temperature
    if open is not None:
        logits = logits.masked_fill(~open, -torch.inf)
    own = logits.new_full((len(goals),), -torch.inf)
    if scorer.false_action or false is not None:
        own = (goals @ _scaled(scorer, scorer.false)).double() / scorer.temperature
        own = own if false is None else own.masked_fill(~false, -torch.inf)
    return _normalised(logits, own, parent)


def log_steps(
    scorer: Embedding,
    goals: Vectors,
    successors: Vectors,
    source: Int[Tensor, " steps"],
    target: Int[Tensor, " steps"],
) -> Float[Tensor, " steps"]:
    """log p_λ of steps between two layers of goals; equal pairs of vectors are multiplied once."""
    one, other = goals.number[source], successors.number[target]
    pairs = len(goals.distinct) * len(successors.distinct)
    if pairs <= len(source):
        products = (goals.distinct @ successors.distinct.T).flatten()
        products = products.index_select(0, one * len(successors.distinct) + other)
    else:
        products = (goals.distinct[one] * successors.distinct[other]).sum(-1)
    own = torch.full_like(goals.number, -torch.inf, dtype=torch.float64)
    if scorer.false_action:
        false = goals.distinct @ _scaled(scorer, scorer.false)
        own = false.double()[goals.number] / scorer.temperature
    return _normalised(products.double() / scorer.temperature, own, source).steps


def _normalised(
    logits: Float[Tensor, " successors"],
    own: Float[Tensor, " goals"],
    parent: Int[Tensor, " successors"],
) -> LogPolicy:
    """The softmax over each goal's successors and its own False."""
    # The peak only shifts the exponents: no gradient goes through it.
    peak = own.detach().scatter_reduce(0, parent, logits.detach(), "amax")
    peak = peak.masked_fill(peak == -torch.inf, 0.0)
    total = (own - peak).exp().index_add(0, parent, (logits - peak[parent]).exp())
    # A goal without a choice has nothing to normalise.
    normaliser = total.masked_fill(total == 0, 1.0).log() + peak
    return LogPolicy(logits - normaliser[parent], own - normaliser)
