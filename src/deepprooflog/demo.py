"""The showcase that `make demo` runs: probabilities, proofs and learning in one minute."""

from __future__ import annotations

import time

import deepprooflog as dpl

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


def main() -> None:
    """Run every part of the showcase."""
    _stochastic_program()
    _grammar()
    _hidden_markov_model()
    _addition()


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
        result = dpl.measure(program, f"s([{word}], [])")
        print(f"p([{word}]) = {result.lower:.6g}   ({result.method})")


def _hidden_markov_model() -> None:
    _title("A hidden Markov model of 2,000 rolls")
    program = dpl.Program(HMM)
    rolls = ",".join("6" if i % 7 < 3 else "low" for i in range(2000))
    begin = time.perf_counter()
    result = dpl.measure(program, f"game([{rolls}])")
    seconds = time.perf_counter() - begin
    print(f"log p = {result.log_lower:.4f} from {result.goals:,} goals in {seconds:.2f} s")


def _addition() -> None:
    _title("Addition of numbers given as digit images: the network learns from sums alone")
    import torch

    print(ADDITION.strip())
    torch.manual_seed(0)
    # Stand-ins for images: a noisy code of eight numbers for each digit.
    codes = torch.randn(10, 8)

    def picture(digit: int) -> torch.Tensor:
        return codes[digit] + 0.3 * torch.randn(8)

    def sums(count: int) -> tuple[list[dpl.Query], torch.Tensor]:
        digits = torch.randint(0, 10, (count, 2, 2))
        goals = []
        for (a1, a0), (b1, b0) in digits.tolist():
            total = 10 * (a1 + b1) + a0 + b0
            written = [int(c) for c in reversed(f"{total:02d}")]
            x, y = [picture(a0), picture(a1)], [picture(b0), picture(b1)]
            goals.append(dpl.goal("add(X, Y, Z, 0)", X=x, Y=y, Z=written))
        return goals, digits

    network = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
    model = dpl.Model(dpl.Program(ADDITION), networks={"digits": network})
    goals, _ = sums(120)
    test = torch.arange(10).repeat(20)
    inputs = torch.stack([picture(int(d)) for d in test])

    def accuracy() -> float:
        return float((network(inputs).argmax(1) == test).double().mean())

    compiled = model.compile(goals)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    print(f"\ndigit accuracy before: {accuracy():.3f}")
    for epoch in range(61):
        loss = -model.log_prob(compiled).mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if epoch % 20 == 0:
            print(f"epoch {epoch:3d}   −log p = {loss.item():.4f}")
    print(f"digit accuracy after:  {accuracy():.3f}, from {len(goals)} sums and no digit label")
    proof = model.best_proof(goals[0])
    print(proof)
    print(f"the proof replays: {proof.check()}")


if __name__ == "__main__":
    main()
