"""The answers of a graph as a table: for frames and files, and for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepprooflog import markup
from deepprooflog.frames import ResultTable
from deepprooflog.markup import Cell, Markup
from deepprooflog.proof.render.fragment import proof_fragment

if TYPE_CHECKING:
    from deepprooflog.kg.prove.answers import Answer, Answers

COLUMNS = ("triple", "probability", "upper", "by_proof", "prior", "known", "proof")


def answer_table(answers: Answers) -> ResultTable:
    """A row for each answer: its variables' names, which begin with capitals, then its figures."""
    names = dict.fromkeys(name for one in answers for name in one.bindings)
    return ResultTable((*names, *COLUMNS), tuple(_row(one) for one in answers))


def _row(one: Answer) -> dict[str, Any]:
    figures = {name: getattr(one, name) for name in COLUMNS[:-1]}
    proof = None if one.proof is None else str(one.proof)
    return {**one.bindings, **figures, "proof": proof}


def answers_html(answers: Answers) -> str:
    """The answers with their figures; a click opens the proofs."""
    head = markup.line(markup.code(answers.query))
    if not len(answers):
        return markup.block(head, markup.line("no answer"))
    names = ("", "probability", "", "by proof", "prior", "known", "proofs")
    return markup.block(head, markup.table(names, map(_cells, answers)))


def _cells(one: Answer) -> tuple[Cell, ...]:
    labels = one.labels
    bound = [
        f"{name} = {value}" + (f" ({labels[value]})" if value in labels else "")
        for name, value in one.bindings.items()
    ]
    shown = markup.code(", ".join(bound) or one.triple)
    return (
        shown, one.probability, markup.meter(one.probability), one.by_proof, one.prior,
        "known" if one.known else None, _proofs(one),
    )  # fmt: skip


def _proofs(one: Answer) -> Markup | None:
    if not one.proofs:
        return None
    count = len(one.proofs)
    inside = Markup("".join(proof_fragment(proof) for proof in one.proofs))
    return markup.fold("1 proof" if count == 1 else f"{count} proofs", inside)


def answer_html(one: Answer) -> str:
    """One triple: how probable it is, what that rests on, its proofs."""
    rows: list[tuple[Cell, ...]] = [
        ("probability", one.probability, markup.meter(one.probability)),
        ("by clauses alone", one.by_proof, markup.meter(one.by_proof)),
    ]
    if one.prior is not None:
        name = "belief alone" if one.evidence else "the prior alone"
        rows.append((name, one.prior, markup.meter(one.prior)))
    if one.upper > one.probability:
        rows.append(("at most, with what was left open", one.upper, None))
    for fact in one.evidence or ():
        rows.append((str(fact), fact.log_odds, "to the log odds"))
    known = "a triple of train or valid" if one.known else ""
    labels = [f"{name} is {label}" for name, label in one.labels.items()]
    parts = [
        markup.line(markup.code(one.triple), known, *labels),
        markup.table(("", "", ""), rows),
        *(
            markup.fold(f"proof {number}", proof_fragment(proof), unfolded=number == 1)
            for number, proof in enumerate(one.proofs, 1)
        ),
    ]
    return markup.block(*parts)
