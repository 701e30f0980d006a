"""Why a step is refused: the errors of resolution, each with its place and remedy."""

from __future__ import annotations

from deepprooflog.errors import ProgramError, PrologError
from deepprooflog.logic.clause import Clause, at
from deepprooflog.logic.solver.iso_errors import instantiation_error, type_error
from deepprooflog.syntax.terms import Functor, Term, Var
from deepprooflog.syntax.writer import write_term


def not_callable(atom: Term) -> PrologError:
    """The leftmost atom is a variable, a number or a tensor."""
    if type(atom) is Var:
        return instantiation_error("an unbound variable is called")
    return type_error("callable", atom)


def labels_exceed_one(atom: Term, clause: Clause, total: float) -> ProgramError:
    """The labels of the clauses that match one call add up to more than 1."""
    return ProgramError(
        f"the labels of the clauses that match {write_term(atom)} add up to {total:.12g}, "
        f"more than 1 (at {write_term(clause.head)})",
        **at(clause.place),
        hint="bind the argument that tells the distributions apart before the call",
    )


def two_networks(atom: Term, first: Clause, second: Clause) -> ProgramError:
    """Two neural clauses match one call."""
    return ProgramError(
        f"{write_term(atom)} matches two neural clauses, {write_term(first.head)} and "
        f"{write_term(second.head)}: one call is one choice",
        **at(second.place),
        hint="tell the heads apart by a constant",
    )


def unbound_input(atom: Term, clause: Clause, network: str) -> ProgramError:
    """A neural predicate was called before its input was known."""
    return ProgramError(
        f"the network {network} is called with an unbound input in {write_term(atom)}",
        **at(clause.place),
        hint="bind the input first: pass a tensor with dpl.goal(..., X=tensor)",
    )


def cut_around_choice(functor: Functor) -> ProgramError:
    """A cut inside a control construct, in a predicate that reaches a random choice."""
    return ProgramError(
        f"{functor} has a cut inside a control construct and reaches a labelled or neural "
        "predicate",
        hint="write the cases as clauses with the cut at the top of the body",
    )
