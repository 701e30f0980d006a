"""The engines: what each must say of a program whose value is known, and where it does not apply.

One function an engine, and one row in `ENGINES`. Where an engine does not apply its row gives the
reason; where the library can tell, the reason is what the library itself says.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch

import deepprooflog as dpl
from deepprooflog.errors import ProgramError
from deepprooflog.infer.method import Method
from deepprooflog.learn.smc import paths, smc_log_prob
from deepprooflog.logic.goal import Interner
from deepprooflog.mdp.environment import Process
from deepprooflog.relational.database import Database
from deepprooflog.relational.layers import explore
from deepprooflog.relational.sweep import masses, provable
from logic.swi_goals import our_outcome
from matrix.known import Known
from matrix.search import best_derivation, weighed_steps
from mdp import reference
from mdp.test_environment import play
from relational.reference_steps import State, state

SAMPLES = 400
SMALL = dpl.Budget(max_goals=30)


def _near(known: Known, rel: float = 1e-9) -> object:
    return pytest.approx(float(known.value), rel=rel)


def _auto(known: Known) -> None:
    assert dpl.prob(known.program, known.goal) == _near(known)


def _tabled(known: Known) -> None:
    assert dpl.prob(known.program, known.goal, method="tabled") == _near(known)


def _graph(known: Known) -> None:
    assert dpl.prob(known.program, known.goal, method="graph") == _near(known, 1e-12)


def _graph_without_end(known: Known) -> None:
    """The goal graph alone cannot be exact: it raises its bounds, and they hold."""
    with pytest.raises(dpl.Inexact) as caught:
        dpl.prob(known.program, known.goal, method="graph", budget=dpl.Budget(max_goals=200))
    assert caught.value.lower <= known.value
    assert caught.value.upper is None or known.value <= caught.value.upper


def _fraction(known: Known) -> None:
    assert dpl.exact_fraction(known.program, known.goal) == known.value


def _no_fraction(known: Known) -> None:
    with pytest.raises(ProgramError, match="not finite"):
        dpl.exact_fraction(known.program, known.goal, budget=dpl.Budget(max_goals=200))


def _bounds(known: Known) -> None:
    for budget in (None, SMALL):
        lower, upper = dpl.bounds(known.program, known.goal, budget=budget)
        value = float(known.value)
        assert lower <= value * (1 + 1e-9)
        assert upper is None or value <= upper * (1 + 1e-9)


def _answers(known: Known) -> None:
    """The answers of a goal have its probability together."""
    assert sum(dpl.answers(known.program, known.goal).values()) == _near(known)


def _model(known: Known) -> None:
    """By itself, and compiled with unfolding and without, twice in a batch that shares."""
    model = dpl.Model(known.program)
    assert model.prob(known.goal) == _near(known)
    assert model.log_prob([known.goal]).exp().tolist() == [_near(known)]
    for on in (True, False):
        both = model.log_prob(model.compile([known.goal] * 2, unfolding=on)).exp().tolist()
        assert both[0] == both[1] == _near(known)


def _model_tabled(known: Known) -> None:
    model = dpl.Model(known.program)
    assert model.log_prob([known.goal], method="tabled").exp().tolist() == [_near(known)]
    assert sum(model.answers(known.goal, method="tabled").values()) == _near(known)


def _model_graph(known: Known) -> None:
    model = dpl.Model(known.program)
    for on in (True, False):
        compiled = model.compile([known.goal], unfolding=on, method="graph")
        assert model.log_prob(compiled).exp().tolist() == [_near(known)]


def _provable(known: Known) -> None:
    """The boolean semiring: a goal is provable exactly when its probability is positive."""
    assert dpl.provable(known.program, known.goal) == (known.value > 0)


def _predict(known: Known) -> None:
    """The most probable answers, by search, are those that listing all answers gives."""
    found = dpl.Model(known.program).predict(known.goal, top=3)
    listed = dpl.answers(known.program, known.goal)
    top = [p for p in listed.values() if p > 0][:3]
    assert [one.probability for one in found] == pytest.approx(top, rel=1e-9)
    assert all(one.certain and listed[one.answer] == _is(one.probability) for one in found)
    if len(listed) == 1:
        assert sum(one.probability for one in found) == _near(known)


def _is(value: float) -> object:
    return pytest.approx(value, rel=1e-9)


def _best_proof(known: Known) -> None:
    """The best of all derivations, by enumeration; the proof of it replays."""
    expected = best_derivation(known.program, known.goal)
    model = dpl.Model(known.program)
    if expected is None:
        assert known.value == 0
        with pytest.raises(ProgramError, match="no proof"):
            model.best_proof(known.goal)
        return
    assert 0 < expected <= known.value
    methods: list[Method] = ["auto", "tabled"] if known.infinite else ["auto", "tabled", "graph"]
    for method in methods:
        proof = model.best_proof(known.goal, method=method)
        assert proof.check()
        assert proof.probability == pytest.approx(float(expected), rel=1e-9)


def _sampling(known: Known) -> None:
    """The mean of weighted successes is within four standard errors of the value."""
    drawn = dpl.Model(known.program).sample(known.goal, SAMPLES, seed=7)
    assert not any(s.cut_off for s in drawn)
    _unbiased(known, [math.exp(s.log_factor) if s.succeeded else 0.0 for s in drawn])


def _sampling_without_end(known: Known) -> None:
    """Derivations cut off may yet succeed: the value lies between without and with them."""
    drawn = dpl.Model(known.program).sample(known.goal, 200, seed=7, max_depth=25)
    value = float(known.value)
    error = 4 * math.sqrt(value * (1 - value) / len(drawn))
    proved = sum(s.succeeded for s in drawn) / len(drawn)
    open_ = sum(s.cut_off for s in drawn) / len(drawn)
    assert proved - error <= value <= proved + open_ + error


def _smc(known: Known) -> None:
    """A hundred runs of eight particles: their mean is within four standard errors."""
    model = dpl.Model(known.program)
    batch = paths(model, [known.goal], dpl.Budget(max_goals=500))
    draw = torch.Generator().manual_seed(3)
    log_p, _ = smc_log_prob(model, batch, 8, select=[0] * 100, generator=draw, max_steps=120)
    _unbiased(known, log_p.exp().tolist())


def _unbiased(known: Known, weights: list[float]) -> None:
    value, mean = float(known.value), math.fsum(weights) / len(weights)
    variance = math.fsum((w - mean) ** 2 for w in weights) / len(weights)
    # A rare event may not be seen at all: its own variance counts when the sample has none.
    spread = math.sqrt(max(variance, value * (1 - value)) / len(weights))
    assert abs(mean - value) <= 4 * spread + 1e-12


def _solver(known: Known) -> None:
    """Labels apart, the interpreted and the compiled solver give the same answers in order."""
    one, two = (our_outcome(known.program, known.goal, compiled=on) for on in (False, True))
    assert (one.answers, one.ending) == (two.answers, two.ending)
    assert bool(one.answers) == (known.value > 0)


def _relational(known: Known) -> None:
    """Layers of goals, swept with the labels of the clauses behind each step."""
    program, database = dpl.Program(known.without_fail), Database.of(known.unlabelled)
    layers = explore(database, database.goals([known.goal]), max_depth=12, max_goals=4000)
    log_weights = []
    for here, after, steps in zip(layers.goals, layers.goals[1:], layers.steps, strict=False):
        sources, targets = database.decode(here), database.decode(after)
        weights: dict[tuple[int, State], float] = {}
        for number, goal in enumerate(sources):
            if goal.is_true:
                continue
            for successor, factor in weighed_steps(program, goal, Interner()):
                key = (number, state(successor))
                weights[key] = weights.get(key, 0.0) + float(factor)
        pairs = zip(steps.source.tolist(), steps.target.tolist(), strict=True)
        found = [weights[s, state(targets[t])] for s, t in pairs]
        log_weights.append(torch.tensor(found, dtype=torch.float64).log())
    mass = masses(layers, log_weights)
    value = float(known.value)
    assert mass.success.item() <= value + 1e-12
    assert value <= mass.success.item() + mass.open.item() + 1e-12
    if not layers.cut:
        assert mass.success.item() == _near(known)
    assert provable(layers).tolist() == [known.value > 0]


def _environment(known: Known) -> None:
    """The batched environment against the plain one, along random episodes."""
    for memory in (False, True):
        process = Process(max_depth=8, memory=memory, false_action=memory)
        compared = play(known.unlabelled, [known.goal] * 4, process, random.Random(0), leave=False)
        assert compared > 0


def _plain_environment(known: Known) -> None:
    """Breadth first through the plain environment: True is reached exactly when it can be."""
    process = Process(max_depth=10_000, memory=False)
    layer = [reference.begin(known.program, known.goal, label=1)]
    met = {layer[0].goal}
    rewards: list[float] = []
    while layer and not rewards and len(met) < 5000:
        following = []
        for episode in layer:
            for number, goal in enumerate(reference.offers(episode, process).goals):
                after, reward = reference.step(episode, process, number)
                assert (after.end is reference.End.PROVED) == goal.is_true == (reward == 1.0)
                rewards += [reward] if reward else []
                if goal not in met:
                    met.add(goal)
                    following.append(after)
        layer = following
    assert bool(rewards) == (known.value > 0)


Reason = str | None


def _always(known: Known) -> Reason:
    return None


def _finite(known: Known) -> Reason:
    return "its goal graph has no end" if known.infinite else None


def _infinite(known: Known) -> Reason:
    return None if known.infinite else "its goal graph is finite"


CYCLES = ("cycle_of_two", "cycle_of_three", "gambler", "unary_cycle")


def _ends_plainly(known: Known) -> Reason:
    """SLD resolution without tables goes round a cycle, and down left recursion, for ever."""
    if known.infinite or known.name in CYCLES:
        return "plain SLD resolution of it does not end"
    open_counter = known.name == "counting_grammar" and known.value == 0
    return "plain SLD resolution of it does not end" if open_counter else None


def _function_free(known: Known) -> Reason:
    """Constants and variables, no builtins: as the engine itself says."""
    try:
        Database.of(known.unlabelled).goals([known.goal])
    except ProgramError as error:
        return re.sub(r"^.*error: |\n.*", "", str(error), flags=re.DOTALL)
    return None


@dataclass(frozen=True)
class Engine:
    """An engine, what it must hold to, and why it does not apply to a program (None: it does)."""

    name: str
    check: Callable[[Known], None]
    reason: Callable[[Known], Reason] = _always


ENGINES = [
    Engine("auto", _auto),
    Engine("tabled", _tabled),
    Engine("graph", _graph, _finite),
    Engine("graph without end", _graph_without_end, _infinite),
    Engine("fraction", _fraction, _finite),
    Engine("no fraction", _no_fraction, _infinite),
    Engine("bounds", _bounds),
    Engine("answers", _answers),
    Engine("model", _model),
    Engine("model by tables", _model_tabled),
    Engine("model by graph", _model_graph, _finite),
    Engine("provable", _provable),
    Engine("predict", _predict),
    Engine("best proof", _best_proof),
    Engine("sampling", _sampling, _finite),
    Engine("sampling without end", _sampling_without_end, _infinite),
    Engine("particles", _smc),
    Engine("solver", _solver, _ends_plainly),
    Engine("relational", _relational, _function_free),
    Engine("environment", _environment, _function_free),
    Engine("plain environment", _plain_environment),
]
