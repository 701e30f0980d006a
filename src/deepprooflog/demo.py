"""The showcase that `make demo` runs: probabilities, proofs and learning in one minute."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import deepprooflog as dpl

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from deepprooflog.data.digits import Digits

SLP = """
0.4 :: s(X) :- p(X), p(X).
0.6 :: s(X) :- q(X).
0.3 :: p(a).   0.7 :: p(b).
0.2 :: q(a).   0.8 :: q(b).
"""

GRAMMAR = """
0.4 :: s --> s, s.
0.6 :: s --> [a].
"""

HMM = """
0.6 :: init(fair). 0.4 :: init(loaded).
0.9 :: go(fair, fair). 0.1 :: go(fair, loaded). 0.2 :: go(loaded, fair). 0.8 :: go(loaded, loaded).
0.5 :: roll(fair, 6). 0.5 :: roll(fair, low). 0.9 :: roll(loaded, 6). 0.1 :: roll(loaded, low).
game(Rolls) :- init(S), rolls(S, Rolls).
rolls(_, []).
rolls(S, [R|Rs]) :- roll(S, R), go(S, T), rolls(T, Rs).
"""

ADDITION = """
nn(digits, [X], D, 0..9) :: digit(X, D).
add([], [], [], 0).
add([], [], [1], 1).
add([X|Xs], [Y|Ys], [Z|Zs], C) :-
    digit(X, A), digit(Y, B), S is A + B + C, Z is S mod 10, C1 is S // 10, add(Xs, Ys, Zs, C1).
"""


EPOCHS = 40


PARTS = ("program", "grammar", "markov", "addition", "village")


def main(parts: Sequence[str] = PARTS) -> dict[str, object]:
    """Run these parts of the showcase; the figures of the last two."""
    figures: dict[str, object] = {}
    if "program" in parts:
        _stochastic_program()
    if "grammar" in parts:
        _grammar()
    if "markov" in parts:
        _hidden_markov_model()
    if "addition" in parts:
        figures |= _addition()
    if "village" in parts:
        figures["graph"] = _village()
    return figures


def _title(text: str) -> None:
    print(f"\n── {text} " + "─" * max(0, 76 - len(text)))


def _stochastic_program() -> None:
    _title("A stochastic logic program")
    print(SLP.strip())
    program = dpl.Program(SLP)
    print(f"\np(s(X)) = {dpl.prob(program, 's(X)')}, exactly {dpl.exact_fraction(program, 's(X)')}")
    for answer, p in dpl.answers(program, "s(X)").items():
        print(f"p({answer}) = {p}")
    print(dpl.Model(program).best_proof("s(a)"))


def _grammar() -> None:
    _title("A left-recursive, ambiguous grammar: no finite goal graph, still exact")
    print(GRAMMAR.strip())
    program = dpl.Program(GRAMMAR)
    for n in range(1, 5):
        word = ",".join("a" * n)
        result = dpl.success(program, f"s([{word}], [])")
        print(f"p([{word}]) = {result.lower:.6g}   ({result.method})")


def _hidden_markov_model() -> None:
    _title("A hidden Markov model of 2,000 rolls")
    program = dpl.Program(HMM)
    rolls = ",".join("6" if i % 7 < 3 else "low" for i in range(2000))
    begin = time.perf_counter()
    result = dpl.success(program, f"game([{rolls}])")
    seconds = time.perf_counter() - begin
    print(f"log p = {result.log_lower:.4f} from {result.goals:,} goals in {seconds:.2f} s")


def _addition() -> dict[str, object]:
    _title("Addition of numbers given as pictures: the network learns from sums alone")
    import torch

    from deepprooflog.data.digits import small_digits
    from deepprooflog.device import threads
    from deepprooflog.learn import Distort
    from deepprooflog.recipes.addition import accuracy, consecutive, small_net, sum_goals

    print(ADDITION.strip())
    began = time.perf_counter()
    torch.manual_seed(0)
    train, test = small_digits()
    images, held_out = (torch.from_numpy(d.images).unsqueeze(1) for d in (train, test))
    # In training each picture is turned and shifted a little; in use the layer does nothing.
    network = torch.nn.Sequential(Distort(8, 0.08, 0.05, 0.1), small_net())
    model = dpl.Model(dpl.Program(ADDITION), networks={"digits": network})
    questions = sum_goals(consecutive(train.labels, 2), images)

    def count() -> tuple[float, float]:
        with torch.no_grad(), threads(1):
            network.eval()
            found = accuracy(network(held_out).argmax(1).numpy(), test.labels, n=2)
        return found.digit_accuracy, found.sum_accuracy_regrouped

    before = count()
    print(f"\nbefore: {before[0]:.1%} of the digits right, {before[1]:.1%} of the sums")
    compiled = model.compile(questions)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.004)
    with threads(1):
        for epoch in range(EPOCHS):
            network.train()
            total = 0.0
            for batch in torch.randperm(len(questions)).split(16):  # type: ignore[no-untyped-call]
                loss = -model.log_prob(compiled, select=batch).mean()
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                total += loss.item() * len(batch) / len(questions)
            if epoch % 10 == 9 or epoch == 0:
                print(f"epoch {epoch + 1:3d}   −log p of a sum = {total:.4f}")
    after = count()
    print(f"after:  {after[0]:.1%} of the digits right, {after[1]:.1%} of the sums, "
          f"from {len(questions)} sums and no digit label")  # fmt: skip
    proof = _one_sum(model, test, held_out)
    return {
        "digit_accuracy_before": before[0], "digit_accuracy_after": after[0],
        "sum_accuracy_before": before[1], "sum_accuracy_after": after[1],
        "proof": proof, "seconds": round(time.perf_counter() - began, 3),
    }  # fmt: skip


def _one_sum(model: dpl.Model, test: Digits, held_out: Tensor) -> str:
    """Show four pictures not trained on, their most probable sums and a proof."""
    model.eval()
    a1, a0, b1, b0 = range(4)
    print(f"\nfour new pictures, two numbers; they show {test.labels[:4].tolist()}:")
    print(drawn(test.images[:4]))
    x, y = ([held_out[i] for i in rows] for rows in ((a0, a1), (b0, b1)))
    answers = model.answers(dpl.goal("add(X, Y, Sum, 0)", X=x, Y=y))
    print("most probable sums, least significant digit first:")
    for answer, p in list(answers.items())[:3]:
        print(f"  {p:.4f}  {answer}")
    proof = model.best_proof(dpl.goal("add(X, Y, Sum, 0)", X=x, Y=y))
    print(proof)
    print(f"the proof replays: {proof.check()}")
    return str(proof)


def _village() -> dict[str, object]:
    """Complete a small knowledge graph: an embedding, mined rules, a policy that weighs them."""
    _title("A village: who is related to whom, with the proof behind the answer")
    import torch

    from deepprooflog.device import threads

    began = time.perf_counter()
    graph = dpl.kg.load("village")
    with threads(1):
        model = dpl.kg.train(
            graph, "mined", prior={"kind": "complex", "steps": 150},
            exact={"steps": 40, "batch": 64}, belief={"shift": False}, mine={"rules": 5},
        )  # fmt: skip
        print(f"{len(graph.train):,} triples about {len(graph.entities)} people and places, "
              f"{len(model.rules)} rules mined, {len(graph.test)} triples to find")  # fmt: skip
        found = model.evaluate()
        assert found.belief is not None
        figures = {"belief alone": found.belief.mrr, "with proofs": found.mrr}
        for name, mrr in figures.items():
            print(f"mean reciprocal rank of the hidden triples, {name}: {mrr:.3f}")
        mass = model.prover(torch.from_numpy(graph.test)).proof
        best = model.explain(graph.text(graph.test[int(mass.argmax())]), proofs=1)
    print(f"\nnot among the triples, but found: {best.triple}")
    proof = best.proof
    assert proof is not None
    print(proof)
    print(f"the proof replays: {proof.check()}")
    seconds = round(time.perf_counter() - began, 3)
    return {"mrr": figures, "proof": str(proof), "seconds": seconds}


def drawn(images: NDArray[np.float32]) -> str:
    """Pictures side by side, as text.

    >>> import numpy as np
    >>> drawn(np.array([[[0.0, 1.0]], [[0.5, 0.0]]], dtype=np.float32))
    '  ██  ▒▒  '
    """
    inks = " ░▒▓█"
    rows = [
        "  ".join("".join(2 * inks[round(4 * float(v))] for v in row) for row in side)
        for side in images.swapaxes(0, 1)
    ]
    return "\n".join(rows)


if __name__ == "__main__":
    main()
