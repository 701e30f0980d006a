"""Model: batches, selections, copies, and the mistakes it names."""

from __future__ import annotations

import copy
import io
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import deepprooflog as dpl
from deepprooflog.learn.smc import paths, smc_log_prob

TWO_WAYS = """
0.4 :: s(X) :- p(X), p(X).   0.6 :: s(X) :- q(X).
0.3 :: p(a).  0.7 :: p(b).   0.2 :: q(a).  0.8 :: q(b).
"""
ADDITION = """
nn(net, [X], D, 0..9) :: digit(X, D).
add([], [], [], 0).
add([], [], [1], 1).
add([X|Xs], [Y|Ys], [D|Ds], C) :-
    digit(X, A), digit(Y, B), S is A + B + C, D is S mod 10, E is S // 10, add(Xs, Ys, Ds, E).
"""


class Certain(nn.Module):
    """Reads a digit from the picture itself: logits that leave no doubt."""

    def forward(self, x: Tensor) -> Tensor:
        return 1000.0 * nn.functional.one_hot(x[:, 0].long(), 10).double()


def number(digits: int) -> list[Tensor]:
    return [torch.tensor([int(c)]) for c in reversed(f"{digits:03d}")]


def digits(total: int) -> list[int]:
    return [int(c) for c in reversed(f"{total:03d}")]


def test_a_batch_of_one_is_a_batch() -> None:
    model = dpl.Model(dpl.Program(TWO_WAYS))
    assert model.log_prob("s(X)").exp().tolist() == pytest.approx([0.832])
    assert model.log_prob(["s(a)", "s(b)"]).exp().tolist() == pytest.approx([0.156, 0.676])
    assert model.log_prob([]).tolist() == []
    assert model.prob("s(a)") == pytest.approx(0.156)
    assert model.answers("s(X)") == pytest.approx({"s(b)": 0.676, "s(a)": 0.156})
    assert model.bounds("s(a)") == pytest.approx((0.156, 0.156))


def test_the_sum_of_pictures_that_leave_no_doubt() -> None:
    """Every sum but the true one is impossible; carries, and one digit more, included."""
    model = dpl.Model(dpl.Program(ADDITION), networks={"net": Certain()})
    pairs = [(0, 0), (123, 456), (999, 1), (507, 496), (999, 999)]
    goals = [
        dpl.goal("add(X, Y, Z, 0)", X=number(a), Y=number(b), Z=digits(a + b)) for a, b in pairs
    ]
    wrong = [
        dpl.goal("add(X, Y, Z, 0)", X=number(a), Y=number(b), Z=digits((a + b + 7) % 1000))
        for a, b in pairs
    ]
    p = model.log_prob(goals + wrong).exp().tolist()
    assert p == pytest.approx([1.0] * 5 + [0.0] * 5, abs=1e-9)


def picture_goals(seed: int, n: int = 12) -> list[dpl.Query]:
    """Additions of two two-digit numbers: several sums, some of them more than once."""
    random = torch.Generator().manual_seed(seed)
    result = []
    for i in range(n):
        pictures = list(torch.randn(4, 5, generator=random))
        total = [7, 57, 120, 57][i % 4] + (i // 8)
        z = [int(c) for c in reversed(f"{total:02d}")]
        result.append(dpl.goal("add(X, Y, Z, 0)", X=pictures[:2], Y=pictures[2:], Z=z))
    return result


@pytest.fixture
def adder() -> dpl.Model:
    torch.manual_seed(3)
    return dpl.Model(dpl.Program(ADDITION), networks={"net": nn.Linear(5, 10)})


def test_a_batch_is_its_goals_one_by_one(adder: dpl.Model) -> None:
    goals = picture_goals(0)
    alone = torch.cat([adder.log_prob([goal]) for goal in goals])
    torch.testing.assert_close(adder.log_prob(goals), alone)
    exact = [adder.success(goal).log_lower for goal in goals]
    assert alone.tolist() == pytest.approx(exact, rel=1e-9)


def test_a_selection_of_a_compiled_batch(adder: dpl.Model) -> None:
    compiled = adder.compile(picture_goals(0))
    everything = adder.log_prob(compiled)
    for select in ([3], [5, 0, 11], [2, 2, 7], list(range(12))):
        torch.testing.assert_close(adder.log_prob(compiled, select=select), everything[select])
    assert adder.log_prob(compiled, select=[]).tolist() == []


@pytest.mark.parametrize(
    ("select", "numbers"),
    [
        ([True, False, True, False], [0, 2]),
        (torch.tensor([False, False, False, True]), [3]),
        (np.array([True, True, False, False]), [0, 1]),
        ([False] * 4, []),
        (np.array([3, 1]), [3, 1]),
        (torch.tensor([2], dtype=torch.uint8), [2]),
        ([-1, -4], [3, 0]),
    ],
)
@pytest.mark.parametrize("unfolding", [True, False])
def test_a_mask_selects_and_numbers_count(
    select: list[int], numbers: list[int], unfolding: bool
) -> None:
    """A mask is not read as the numbers 0 and 1."""
    model = dpl.Model(dpl.Program("0.1 :: p(f(a)). 0.2 :: p(f(b)). 0.3 :: p(f(c)). 0.4 :: p(d)."))
    goals = ["p(f(a))", "p(f(b))", "p(f(c))", "p(d)"]
    compiled = model.compile(goals, unfolding=unfolding)
    expected = [0.1 * (1 + i) for i in numbers]
    assert model.log_prob(compiled, select=select).exp().tolist() == pytest.approx(expected)
    found, _ = smc_log_prob(model, paths(model, goals), select=select)
    assert found.exp().tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("select", "message"),
    [
        ([True, False], "has 2 entries for 4 goals"),
        ([4], "goal 4 is selected, of 4 goals"),
        ([0, -5], "goal -5 is selected, of 4 goals"),
        (torch.tensor([0.0, 1.0]), "by numbers of torch.float32"),
        (torch.tensor([1j]), "by numbers of torch.complex64"),
        (torch.tensor([[0], [1]]), "has one dimension, not 2"),
        (np.array(["p(a)"]), "cannot be selected by this"),
        (np.array([None]), "cannot be selected by this"),
    ],
)
def test_what_selects_nothing(select: list[int], message: str) -> None:
    model = dpl.Model(dpl.Program("0.1 :: p(a). 0.2 :: p(b)."))
    compiled = model.compile(["p(a)", "p(b)", "p(a)", "p(b)"])
    with pytest.raises(dpl.ModelError, match=message):
        model.log_prob(compiled, select=select)
    with pytest.raises(dpl.ModelError, match=message):
        smc_log_prob(model, ["p(a)", "p(b)", "p(a)", "p(b)"], select=select)


def test_a_selection_of_graphs_and_tables() -> None:
    model = dpl.Model(dpl.Program("0.6 :: p :- p, p. 0.4 :: p. 0.3 :: q(a). 0.7 :: q(b)."))
    compiled = model.compile(["q(a)", "p", "q(b)", "p, q(a)", "q(c)"])
    expected = [0.3, 2 / 3, 0.7, 0.2, 0.0]
    assert model.log_prob(compiled).exp().tolist() == pytest.approx(expected)
    for select in ([1], [4, 3], [0, 2], [3, 3, 1]):
        found = model.log_prob(compiled, select=select).exp().tolist()
        assert found == pytest.approx([expected[i] for i in select])


def test_one_query_without_an_end_leaves_the_others_their_graphs() -> None:
    model = dpl.Model(dpl.Program("0.6 :: p :- p, p. 0.4 :: p. 0.3 :: q(a). 0.7 :: q(b)."))
    compiled = model.compile(["q(a)", "p", "q(b)"])
    assert len(compiled.graphs) == 2
    assert len(compiled.tabled) == 1


def test_a_bank_can_be_replaced(adder: dpl.Model) -> None:
    compiled = adder.compile(picture_goals(0))
    other = picture_goals(1)
    bank = [t for goal in other for t in goal.tensors]
    again = adder.log_prob(compiled.with_bank(bank))  # type: ignore[arg-type]
    torch.testing.assert_close(again, adder.log_prob(other))
    with pytest.raises(dpl.ModelError, match="48 tensors, not 1"):
        compiled.with_bank(bank[:1])  # type: ignore[arg-type]


@pytest.mark.parametrize("picture", [torch.ones(5).to_sparse(), torch.empty(5, device="meta")])
def test_a_tensor_that_is_no_array_of_numbers(adder: dpl.Model, picture: Tensor) -> None:
    goal = dpl.goal("add(X, X, [2], 0)", X=[picture])
    for ask in (adder.prob, adder.compile, adder.best_proof):
        with pytest.raises(dpl.ModelError, match="is no tensor: it is not an array of numbers"):
            ask(goal)
    compiled = adder.compile(dpl.goal("add(X, X, [2], 0)", X=[torch.ones(5)]))
    with pytest.raises(dpl.ModelError, match="is no tensor"):
        compiled.with_bank([picture])
    with pytest.raises(dpl.ModelError, match="is no bank of tensors"):
        compiled.with_bank(torch.tensor(1.0))


def test_arrays_that_are_turned_round_or_of_another_machine(adder: dpl.Model) -> None:
    row = np.arange(5.0, dtype=np.float32)
    turned = row[::-1].copy()[::-1]
    plain, *others = (
        adder.prob(dpl.goal("add(X, X, [2], 0)", X=[a]))
        for a in (torch.tensor(row), row, turned, row.astype(">f4"))
    )
    assert others == pytest.approx([plain] * 3)


def test_the_same_picture_is_read_once() -> None:
    rows: list[int] = []

    class Counting(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            rows.append(len(x))
            return torch.zeros(len(x), 10)

    model = dpl.Model(dpl.Program(ADDITION), networks={"net": Counting()})
    x, y = torch.zeros(1), torch.ones(1)
    z = [[0, 1], [5, 1], [8, 1]]
    goals = [dpl.goal("add(X, Y, Z, 0)", X=[x], Y=[y], Z=total) for total in z]
    # Of 100 pairs of digits, 9 make 10, 4 make 15 and one makes 18.
    assert model.log_prob(goals).exp().tolist() == pytest.approx([0.09, 0.04, 0.01])
    assert rows == [2]


@pytest.mark.parametrize("how", ["deepcopy", "save", "state"])
def test_copies_keep_what_was_learned(how: str, tmp_path: Path) -> None:
    text = "t(0.6) :: p(a). t(0.3) :: p(b). q(X) :- p(X), p(X)."
    model = dpl.Model(dpl.Program(text))
    with torch.no_grad():
        model.labels.logits.copy_(torch.log(torch.tensor([0.5, 0.25, 0.25])))
    if how == "deepcopy":
        other = copy.deepcopy(model)
    elif how == "save":
        buffer = io.BytesIO()
        torch.save(model, buffer)
        buffer.seek(0)
        other = torch.load(buffer, weights_only=False)
    else:
        torch.save(model.state_dict(), tmp_path / "weights.pt")
        other = dpl.Model(dpl.Program(text))
        other.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
    assert other.log_prob(["q(a)", "q(b)"]).exp().tolist() == pytest.approx([0.25, 0.0625])


def test_labels_in_single_precision_are_still_labels() -> None:
    model = dpl.Model(dpl.Program("t(0.6) :: p(a). t(0.4) :: p(b).")).float()
    log = model.log_prob(["p(a)"])
    log.sum().backward()
    assert log.exp().item() == pytest.approx(0.6, rel=1e-6)
    assert model.labels.logits.grad is not None
    assert model.labels.logits.grad.tolist() == pytest.approx([0.4, -0.4], rel=1e-6)


NEURAL = "nn(net, [X], D, [a, b]) :: d(X, D). q(X) :- d(X, a)."
PICTURE = dpl.goal("q(X)", X=torch.zeros(3))


class Says(nn.Module):
    """Returns the same row for every input."""

    def __init__(self, *row: float) -> None:
        super().__init__()
        self.row = torch.tensor(row)

    def forward(self, x: Tensor) -> Tensor:
        return self.row.expand(len(x), -1)


@pytest.mark.parametrize(
    ("network", "outputs", "p"),
    [
        (Says(0.0, math.log(3)), "logits", 0.25),
        (Says(-math.inf, 0.0), "logits", 0.0),
        (Says(0.25, 0.75), "probabilities", 0.25),
        (Says(0.0, 1.0), "probabilities", 0.0),
        (Says(math.log(0.25), math.log(0.75)), "log_probabilities", 0.25),
    ],
)
def test_what_a_networks_outputs_mean(network: nn.Module, outputs: str, p: float) -> None:
    net = dpl.Network(network, outputs=outputs)  # type: ignore[arg-type]
    model = dpl.Model(dpl.Program(NEURAL), networks={"net": net})
    assert model.log_prob([PICTURE]).exp().item() == pytest.approx(p, abs=1e-7)
    assert model.prob(PICTURE) == pytest.approx(p, abs=1e-7)


@pytest.mark.parametrize(
    ("network", "outputs", "message"),
    [
        (Says(math.nan, 0.0), "logits", "returned NaN"),
        (Says(-math.inf, -math.inf), "logits", "returned infinite logits"),
        (Says(0.0, 0.0, 0.0), "logits", r"returned \[1, 3\]"),
        (Says(0.5, 0.6), "probabilities", r"sum to 1\.1, not 1"),
        (Says(-0.5, 1.5), "probabilities", "negative probability"),
        (Says(0.0, 0.0), "log_probabilities", "sum to 2, not 1"),
    ],
)
def test_what_a_network_may_not_return(network: nn.Module, outputs: str, message: str) -> None:
    net = dpl.Network(network, outputs=outputs)  # type: ignore[arg-type]
    model = dpl.Model(dpl.Program(NEURAL), networks={"net": net})
    with pytest.raises(dpl.ModelError, match=message) as caught:
        model.log_prob([PICTURE])
    assert caught.value.line == 1


def test_networks_by_name() -> None:
    with pytest.raises(dpl.ModelError, match="no network nett"):
        dpl.Model(dpl.Program(NEURAL), networks={"nett": Says(0.0, 0.0)})
    with pytest.raises(dpl.ModelError, match="net was not given"):
        dpl.Model(dpl.Program(NEURAL)).log_prob([PICTURE])
    model = dpl.Model(dpl.Program(NEURAL), networks={"net": Says(0.0, 0.0)})
    with pytest.raises(dpl.ModelError, match="which is not a tensor"):
        model.log_prob(["q(7)"])


def test_a_value_the_network_rules_out_has_no_gradient_that_is_nan() -> None:
    class Table(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.p = nn.Parameter(torch.tensor([0.0, 1.0]))

        def forward(self, x: Tensor) -> Tensor:
            return self.p.expand(len(x), 2)

    table = Table()
    net = dpl.Network(table, outputs="probabilities")
    model = dpl.Model(dpl.Program(NEURAL), networks={"net": net})
    log = model.log_prob([PICTURE, dpl.goal("d(X, b)", X=torch.zeros(3))])
    assert log.tolist() == [-math.inf, 0.0]
    log.exp().sum().backward()
    assert table.p.grad is not None
    assert table.p.grad.isfinite().all()
    table.p.grad = None
    model.log_prob([PICTURE, PICTURE]).sum().backward()
    assert table.p.grad is None or table.p.grad.isfinite().all()


# -- what goes wrong without an error --------------------------------------------------------------


@pytest.mark.parametrize("text", [TWO_WAYS, "1/3 :: p(a). q :- p(a), p(a)."])
def test_functions_and_models_give_one_number(text: str) -> None:
    program = dpl.Program(text)
    for query in ("s(a)", "s(X)") if "s(" in text else ("p(a)", "q"):
        assert dpl.Model(program).prob(query) == dpl.prob(program, query)


class Softened(nn.Module):
    """Ends in a softmax where only its outputs show it."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(x[:, :2], 1)


PICTURES = [dpl.goal("q(X)", X=torch.randn(3)) for _ in range(4)]


@pytest.mark.parametrize("network", [nn.Sequential(nn.Linear(3, 2), nn.Softmax(1)), Softened()])
def test_a_softmax_before_the_models_own_is_told(network: nn.Module) -> None:
    with pytest.warns(UserWarning, match=r"the network net .*outputs=\"probabilities\""):
        dpl.Model(dpl.Program(NEURAL), networks={"net": network}).log_prob(PICTURES)


def test_a_sigmoid_before_the_models_own_is_told() -> None:
    program = dpl.Program("nn(net, [X]) :: q(X).")
    with pytest.warns(UserWarning, match="the network net ends in Sigmoid"):
        dpl.Model(program, networks={"net": nn.Sequential(nn.Linear(3, 1), nn.Sigmoid())})


@pytest.mark.parametrize(
    "network",
    [
        dpl.Network(nn.Sequential(nn.Linear(3, 2), nn.Softmax(1)), outputs="probabilities"),
        dpl.Network(nn.Sequential(nn.Linear(3, 2), nn.Softmax(1)), outputs="logits"),
        dpl.Network(Softened(), outputs="logits"),
        nn.Sequential(nn.Linear(3, 2), nn.LogSoftmax(1)),  # logits of the same distribution
        nn.Linear(3, 2),
        Says(0.0, 0.0),
    ],
)
def test_networks_that_are_what_they_are_said_to_be(network: nn.Module) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dpl.Model(dpl.Program(NEURAL), networks={"net": network}).log_prob(PICTURES)


def test_weights_of_clauses_in_another_order_are_refused() -> None:
    model = dpl.Model(dpl.Program("t(0.3) :: p(a). t(0.7) :: p(b)."))
    other = dpl.Model(dpl.Program("t(0.7) :: p(b). t(0.3) :: p(a)."))
    with pytest.raises(dpl.ModelError, match=r"label 1 is that of `p\(a\)\.` there, .*`p\(b\)\.`"):
        other.load_state_dict(model.state_dict())
    assert other.prob("p(b)") == 0.7
    anew = dpl.Model(dpl.Program("t(0.5) :: p(a). t(0.5) :: p(b)."))
    anew.load_state_dict(model.state_dict())
    assert anew.prob("p(a)") == pytest.approx(0.3)


def test_weights_that_do_not_name_their_clauses_are_taken_with_a_notice() -> None:
    model = dpl.Model(dpl.Program("t(0.3) :: p(a). t(0.7) :: p(b)."))
    state = {k: v for k, v in model.state_dict().items() if k != "labels.clauses"}
    other = dpl.Model(dpl.Program("t(0.5) :: p(a). t(0.5) :: p(b)."))
    with pytest.warns(UserWarning, match="do not say which clauses"):
        other.load_state_dict(state)
    assert other.prob("p(a)") == pytest.approx(0.3)


OVERLAPPING = """\
nn(net, [X], D, [a, b]) :: d(X, D).
q(X, Y) :- d(X, a).
q(X, Y) :- d(Y, a).
"""


def test_clauses_that_overlap_are_told_when_the_model_is_made() -> None:
    with pytest.warns(UserWarning, match=r"`q\(X,Y\) :- d\(X,a\)\.` \(line 2\) and .*\(line 3\)"):
        model = dpl.Model(dpl.Program(OVERLAPPING), networks={"net": Says(5.0, 0.0)})
    sure = dpl.goal("q(X, Y)", X=torch.zeros(3), Y=torch.ones(3))
    for ask in (model.prob, model.log_prob, model.answers, model.predict):
        with pytest.raises(dpl.ProgramError, match=r"weight 1\.98\d*, more .*\(line 3\)") as caught:
            ask(sure)
        assert "by a test or by the outcomes they ask for" in (caught.value.hint or "")


def test_a_scorer_that_normalises_has_no_overlaps() -> None:
    program = dpl.Program("q :- p. q :- r. 0.5 :: p. 0.5 :: r.")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dpl.Model(program, scorer=dpl.ClauseWeights(program))
