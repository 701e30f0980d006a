"""hmmlearn as an oracle for hidden Markov models: forward log-likelihood and the Viterbi path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Hmm:
    """A discrete hidden Markov model; every row of every array is a distribution."""

    start: NDArray[np.float64]  # [states]
    transition: NDArray[np.float64]  # [states, states]
    emission: NDArray[np.float64]  # [states, symbols]


def random_hmm(states: int, symbols: int, seed: int) -> Hmm:
    """Rows in thousandths, so that program text holds them exactly; some entries are 0."""
    rng = np.random.default_rng(seed)

    def rows(n: int, width: int) -> NDArray[np.float64]:
        weights = rng.dirichlet(np.full(width, 0.8), size=n)
        parts = np.floor(weights * 1000).astype(int)
        parts[np.arange(n), parts.argmax(axis=1)] += 1000 - parts.sum(axis=1)
        return parts / 1000

    return Hmm(rows(1, states)[0], rows(states, states), rows(states, symbols))


def draw_symbols(hmm: Hmm, length: int, seed: int) -> list[int]:
    """What the model emits on one random run."""
    rng = np.random.default_rng(seed)
    state = rng.choice(len(hmm.start), p=hmm.start)
    symbols = []
    for _ in range(length):
        symbols.append(int(rng.choice(hmm.emission.shape[1], p=hmm.emission[state])))
        state = rng.choice(len(hmm.start), p=hmm.transition[state])
    return symbols


def as_slp(hmm: Hmm) -> str:
    """The model as a program: rows of labelled facts and a recursion along the symbols."""
    lines = [f"{p} :: init(s{i})." for i, p in enumerate(hmm.start)]
    for name, table, to in (("trans", hmm.transition, "s"), ("emit", hmm.emission, "o")):
        for i, row in enumerate(table):
            lines += [f"{p} :: {name}(s{i}, {to}{j})." for j, p in enumerate(row)]
    lines += [
        "hmm([O|Os]) :- init(S), emit(S, O), rest(Os, S).",
        "rest([], _).",
        "rest([O|Os], S) :- trans(S, T), emit(T, O), rest(Os, T).",
    ]
    return "\n".join(lines)


def as_query(symbols: list[int]) -> str:
    """The goal that the model emits these symbols."""
    return f"hmm([{','.join(f'o{s}' for s in symbols)}])"


def hmmlearn_scores(hmm: Hmm, symbols: list[int]) -> tuple[float, float]:
    """log p(symbols) and log p(symbols, most probable path)."""
    from hmmlearn.hmm import CategoricalHMM  # type: ignore[import-untyped]

    model = CategoricalHMM(n_components=len(hmm.start), implementation="log")
    model.n_features = hmm.emission.shape[1]
    model.startprob_ = hmm.start
    model.transmat_ = hmm.transition
    model.emissionprob_ = hmm.emission
    column = np.array(symbols).reshape(-1, 1)
    with np.errstate(divide="ignore"):
        forward = float(model.score(column))
        best, _ = model.decode(column, algorithm="viterbi")
    return forward, float(best)
