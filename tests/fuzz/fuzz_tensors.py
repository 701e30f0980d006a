"""Tensors anywhere in random terms: every way of asking reads the tensors the goal names.

A case is a random type of terms, a program that reads terms of that type, and goals over a few
tensors that come again and again; see `tensor_terms` for what each is worth.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

import deepprooflog as dpl
from deepprooflog.infer.particles.arena import Arena
from deepprooflog.infer.particles.prepare import Form, arenas
from deepprooflog.learn.smc import paths, smc_log_prob
from fuzz.rounds import Rounds, Tally
from fuzz.tensor_terms import (
    DIGITS,
    TENSORS,
    VALUES,
    WIDTH,
    Alike,
    Join,
    Kind,
    Maker,
    Nets,
    Term,
    Worth,
    best,
    tensors_in,
    text_of,
    total,
)  # fmt: skip

PROMISE = "a tensor inside any term is read as that tensor, by every method, gradients included"
QUICK = 8


@dataclass
class Case:
    """A program, its networks, and goals with what each is worth."""

    text: str
    model: dpl.Model
    nets: Nets
    kind: Kind
    terms: list[list[Term]]  # the terms of each goal, which share its value
    values: list[int]

    def goal(self, i: int, value: int | None = None) -> dpl.Query:
        called = ", ".join(f"{self.kind.name}({text_of(t)}, V)" for t in self.terms[i])
        used = {n for t in self.terms[i] for n in tensors_in(t)}
        given: dict[str, object] = {f"T{n}": self.nets.tensors[n] for n in sorted(used)}
        if value is not None:
            given["V"] = value
        return dpl.goal(called, **given)

    def worth(self, i: int, join: Join = total, nets: Nets | None = None) -> Worth:
        own = [self.kind.worth(t, nets or self.nets, join) for t in self.terms[i]]
        common = set(own[0]).intersection(*own[1:])
        return {v: torch.stack([w[v] for w in own]).prod() for v in sorted(common)}

    def expected(self, join: Join = total, nets: Nets | None = None) -> Tensor:
        zero = torch.zeros((), dtype=torch.float64)
        return torch.stack(
            [self.worth(i, join, nets).get(v, zero) for i, v in enumerate(self.values)]
        )


def draw(rng: random.Random) -> Case:
    """A random case."""
    maker = Maker(rng)
    kind = maker.kind(rng.choice([1, 2, 2, 3]))
    text = f"nn(d, [X], D, 0..{DIGITS - 1}) :: digit(X, D).\nnn(e, [X, Y]) :: alike(X, Y).\n"
    text += "\n".join(line for k in maker.kinds for line in k.clauses)
    seed = torch.Generator().manual_seed(rng.randrange(2**31))
    tensors = list(torch.randn(TENSORS, WIDTH, generator=seed, dtype=torch.float64))
    digit = torch.nn.Linear(WIDTH, DIGITS, dtype=torch.float64)
    alike = torch.nn.Linear(2 * WIDTH, 1, dtype=torch.float64)
    with torch.no_grad():
        for p in (*digit.parameters(), *alike.parameters()):
            p.copy_(torch.randn(p.shape, generator=seed, dtype=torch.float64))
    model = dpl.Model(dpl.Program(text), networks={"d": digit, "e": Alike(alike)})
    terms = [[kind.draw(rng) for _ in range(rng.choice([1, 1, 1, 2]))] for _ in range(4)]
    terms.append(terms[rng.randrange(4)])
    case = Case(text, model, Nets(tensors, digit, alike), kind, terms, [])
    for i in range(len(terms)):
        support = list(case.worth(i)) or [0]
        case.values.append(rng.choice([*support, *support, *support, rng.randrange(VALUES)]))
    return case


def check(rng: random.Random) -> str | None:
    """What a random case shows to be wrong; None when all is right."""
    case = draw(rng)
    with torch.random.fork_rng():
        torch.manual_seed(rng.randrange(2**31))
        try:
            for name, question in QUESTIONS.items():
                wrong = question(case, rng)
                if wrong:
                    return f"{name}: {wrong}\n{case.text}\n{[str(g) for g in _goals(case)]}"
        except Exception as error:
            return f"{type(error).__name__}: {error}\n{case.text}\n{[str(g) for g in _goals(case)]}"
    return None


def _goals(case: Case) -> list[dpl.Query]:
    return [case.goal(i, v) for i, v in enumerate(case.values)]


def _differ(found: Tensor, expected: Tensor) -> str | None:
    if torch.allclose(found.detach(), expected.detach(), rtol=1e-9, atol=1e-13):
        return None
    return f"{found.tolist()} for {expected.tolist()}"


def batches(case: Case, rng: random.Random) -> str | None:
    """log_prob of the batch and of some of it, with its own tensors and others; gradients."""
    expected = case.expected()
    parameters = [*case.nets.digit.parameters(), *case.nets.alike.parameters()]
    share = torch.tensor([rng.random() for _ in case.values], dtype=torch.float64)
    wanted = _gradients((expected * share).sum(), parameters)
    for unfolding in (True, False):
        compiled = case.model.compile(_goals(case), unfolding=unfolding)
        found = case.model.log_prob(compiled).exp()
        some = [rng.randrange(len(case.values)) for _ in range(rng.randrange(1, 5))]
        wrong = _differ(found, expected) or _differ(
            case.model.log_prob(compiled, select=some).exp(), expected[some]
        )
        alive = expected.detach() > 0
        slopes = _gradients((found * share)[alive].sum(), parameters)
        for one, other in zip(slopes, wanted, strict=True):
            wrong = wrong or _differ(one, other)
        used = list(dict.fromkeys(n for ts in case.terms for t in ts for n in tensors_in(t)))
        if used:
            # The bank holds the tensors in the order in which the goals name them.
            order = list({id(t): None for g in _goals(case) for t in g.tensors})
            place = {id(case.nets.tensors[n]): n for n in used}
            others = [torch.randn_like(t) for t in case.nets.tensors]
            moved = Nets(others, case.nets.digit, case.nets.alike)
            bank = torch.stack([others[place[i]] for i in order])
            wrong = wrong or _differ(
                case.model.log_prob(compiled.with_bank(bank)).exp(), case.expected(nets=moved)
            )
        if wrong:
            return f"unfolding={unfolding}: {wrong}"
    return None


def _gradients(value: Tensor, parameters: list[torch.nn.Parameter]) -> list[Tensor]:
    if not value.requires_grad:
        return [torch.zeros_like(p) for p in parameters]
    found = torch.autograd.grad(value, parameters, allow_unused=True)
    return [torch.zeros_like(p) if g is None else g for p, g in zip(parameters, found, strict=True)]


def stream(case: Case, rng: random.Random) -> str | None:
    """Other goals of the same program, asked one after another and over rows of a bank."""
    for _ in range(2):
        terms = [[case.kind.draw(rng)] for _ in range(rng.randrange(1, 4))]
        other = replace(case, terms=terms, values=[rng.randrange(VALUES) for _ in terms])
        expected = other.expected()
        bank = torch.stack(case.nets.tensors)
        of_bank: list[dpl.Query] = []
        for i, ((term,), value) in enumerate(zip(terms, other.values, strict=True)):
            rows = {f"T{n}": [n] for n in tensors_in(term)}
            text = f"{case.kind.name}({text_of(term)}, V)"
            of_bank += dpl.goals(text, bank=dict.fromkeys(rows, bank), V=[value], **rows)
            if rows and str(of_bank[i]) != str(case.model.program.query(of_bank[i])):
                return f"{of_bank[i]} is read again"
        wrong = _differ(case.model.log_prob(_goals(other)).exp(), expected)
        wrong = wrong or _differ(case.model.log_prob(of_bank).exp(), expected)
        if wrong:
            return f"{[str(g) for g in _goals(other)]}: {wrong}"
    return None


def single(case: Case, rng: random.Random) -> str | None:
    """prob, answers, the best proof and the best answer of one goal."""
    i = rng.randrange(len(case.values))
    worth = {v: p.item() for v, p in case.worth(i).items()}
    expected = worth.get(case.values[i], 0.0)
    goal, open_goal = case.goal(i, case.values[i]), case.goal(i)
    if not np.isclose(case.model.prob(goal), expected, rtol=1e-9, atol=1e-13):
        return f"prob of {goal} is {case.model.prob(goal)} for {expected}"
    answers = sorted(case.model.answers(open_goal).values())
    if not np.allclose(answers, sorted(worth.values()), rtol=1e-9, atol=1e-13):
        return f"answers of {open_goal} are {answers} for {worth}"
    if expected:
        found = case.model.best_proof(goal).probability
        most = case.worth(i, best)[case.values[i]].item()
        if not np.isclose(found, most, rtol=1e-9):
            return f"best proof of {goal} weighs {found} for {most}"
    if worth:
        (top,) = case.model.predict(open_goal)
        if not np.isclose(top.probability, max(worth.values()), rtol=1e-9):
            return f"best answer of {open_goal} is {top.answer} {top.probability} for {worth}"
    return None


def particles(case: Case, rng: random.Random) -> str | None:
    """The arenas that particles run on hold the probability; runs reach provable goals only."""
    model, expected = case.model, case.expected().detach()
    some = [rng.randrange(len(case.values)) for _ in range(3)]
    forms: list[Form] = ["auto", "graph"]
    for form in forms:
        batch = paths(model, _goals(case), form=form)
        found = torch.zeros(len(some), dtype=torch.float64)
        for where, ground in arenas(batch, model.weights, some):
            assert isinstance(ground, Arena)
            found[torch.as_tensor(where)] = _solved(ground).detach()
        wrong = _differ(found, expected[some])
        if wrong:
            return f"form={form}: {wrong}"
    with torch.no_grad():
        log_p, _ = smc_log_prob(model, paths(model, _goals(case), form="steps"), 8)
    if bool(((log_p > -torch.inf) & (expected == 0)).any()):
        return f"form=steps reached goals worth nothing: {log_p.tolist()}"
    return None


def _solved(arena: Arena) -> Tensor:
    """The probability of reaching True from each root, by sweeps until nothing moves."""
    values = arena.true.to(torch.float64)
    for _ in range(len(values) + 1):
        flow = arena.weights.exp() * values[arena.target]
        swept = torch.zeros_like(values).index_add(0, arena.source, flow)
        swept = torch.where(arena.true, 1.0, swept)
        if torch.equal(swept, values):
            break
        values = swept
    return torch.where(arena.roots >= 0, values[arena.roots.clamp_min(0)], 0.0)


def embedded(case: Case, rng: random.Random) -> str | None:
    """Under a scorer on whole goals each goal of a batch is worth what it is worth alone."""
    if rng.random() < 0.8:
        return None
    program, encoder = case.model.program, torch.nn.Linear(WIDTH, 4).double()
    scorer = dpl.Embedding(program, 4, encoders=encoder).double()
    networks = {"d": case.nets.digit, "e": Alike(case.nets.alike)}
    model = dpl.Model(program, networks=networks, scorer=scorer)
    together = model.log_prob(_goals(case))
    alone = torch.cat([model.log_prob([g]) for g in _goals(case)])
    single = torch.tensor([model.prob(g) for g in _goals(case)], dtype=torch.float64)
    return _differ(together.exp(), alone.exp()) or _differ(single, alone.exp())


QUESTIONS = {
    "batch": batches,
    "stream": stream,
    "single": single,
    "particles": particles,
    "embedding": embedded,
}


def attack(rounds: Rounds) -> Tally:
    """Random cases, each asked in every way."""
    tally = Tally()
    for number, rng in enumerate(rounds):
        wrong = check(rng)
        tally.record(wrong is None, f"case {number} of seed {rounds.seed}: {wrong}")
    return tally
