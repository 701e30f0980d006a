"""The public face: what is exported, functions and methods alike, and the model as a module."""

from __future__ import annotations

import inspect
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import get_args, get_origin

import pytest
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

import deepprooflog as dpl

ROOT = Path(__file__).parents[1]
TWO_WAYS = """
0.4 :: s(X) :- p(X), p(X).   0.6 :: s(X) :- q(X).
0.3 :: p(a).  0.7 :: p(b).   0.2 :: q(a).  0.8 :: q(b).
"""
NEURAL = "nn(net, [X], D, [a, b]) :: d(X, D). q(X) :- d(X, a)."


def pictures(n: int = 4) -> list[dpl.Query]:
    random = torch.Generator().manual_seed(0)
    return [dpl.goal("q(X)", X=torch.randn(3, generator=random)) for _ in range(n)]


def neural() -> dpl.Model:
    torch.manual_seed(1)
    return dpl.Model(dpl.Program(NEURAL), networks={"net": nn.Linear(3, 2)})


# -- names -----------------------------------------------------------------------------------------


def test_every_public_name_is_there_and_is_listed() -> None:
    assert set(dpl.__all__) <= set(dir(dpl))
    for name in dpl.__all__:
        assert getattr(dpl, name) is not None


def test_listing_the_names_loads_no_torch() -> None:
    script = (
        "import sys, deepprooflog as dpl; names = dir(dpl)\n"
        "assert {'Model', 'fit', 'smc_loss', 'kg', 'prob'} <= set(names)\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_what_is_returned_is_exported() -> None:
    model = dpl.Model(dpl.Program(TWO_WAYS))
    assert isinstance(model.success("s(a)"), dpl.Success)
    assert isinstance(model.sample("s(a)", seed=0)[0], dpl.Sample)
    assert isinstance(model.compile(["s(a)"]), dpl.Compiled)
    assert isinstance(model.predict("s(X)")[0], dpl.Prediction)
    assert isinstance(model.best_proof("s(a)"), dpl.Proof)
    assert isinstance(model.scorer, dpl.Unit)
    assert issubclass(dpl.Unit, dpl.Scorer)
    with pytest.raises(dpl.BudgetExceeded) as caught:
        model.sample("s(a)", 10**6, budget=dpl.Budget(max_seconds=0.01))
    assert type(caught.value).__module__ == "deepprooflog.errors"


# What the engines take from a model, of their own types.
SEAMS = {"begin", "weigher", "weights"}


def functions() -> Iterator[tuple[str, Callable[..., object]]]:
    """The functions of both namespaces, and what their models are asked."""
    for space in (dpl, dpl.kg):
        for name in space.__all__:
            if inspect.isfunction(getattr(space, name)):
                yield name, getattr(space, name)
    for model in (dpl.Model, dpl.kg.GraphModel):
        for name in dir(model):
            member = inspect.getattr_static(model, name)
            asked = member.fget if isinstance(member, property) else member
            if name.startswith("_") or not inspect.isfunction(asked):
                continue
            if asked.__module__.startswith("deepprooflog"):
                yield f"{model.__name__}.{name}", asked


FUNCTIONS = [given for given in functions() if given[0].split(".")[-1] not in SEAMS]


def classes_in(annotation: object) -> Iterator[type]:
    """The package's classes that a type is made of."""
    parts = [get_origin(annotation), *get_args(annotation)]
    for part in parts if any(parts) else [annotation]:
        if part is not annotation and get_args(part):
            yield from classes_in(part)
        elif isinstance(part, type) and part.__module__.startswith("deepprooflog"):
            yield part


@pytest.mark.parametrize(("name", "function"), FUNCTIONS, ids=[name for name, _ in FUNCTIONS])
def test_types_of_results_are_exported(name: str, function: Callable[..., object]) -> None:
    function = inspect.unwrap(function)
    returned = eval(function.__annotations__["return"], function.__globals__)
    public = [getattr(space, n) for space in (dpl, dpl.kg) for n in space.__all__]
    hidden = [one.__name__ for one in classes_in(returned) if one not in public]
    assert not hidden, f"{name} returns {hidden}, which no public name stands for"


@pytest.mark.parametrize("name", [
    "query", "explain", "evaluate", "why_not", "steps", "compare", "facts_about", "supported_by",
    "rule_table", "run_summary",
])  # fmt: skip
def test_answers_about_graphs_turn_into_plain_python(name: str) -> None:
    asked = inspect.unwrap(getattr(dpl.kg.GraphModel, name))
    for result in classes_in(eval(asked.__annotations__["return"], asked.__globals__)):
        assert callable(getattr(result, "to_dict", None)), f"{result.__name__} has no to_dict"


QUESTIONS = ["prob", "success", "bounds", "answers", "log_answers", "predict", "provable",
             "exact_fraction"]  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
def test_functions_and_methods_have_the_same_arguments_and_values(name: str) -> None:
    function, method = getattr(dpl, name), getattr(dpl.Model, name)
    of_function = inspect.signature(function).parameters
    of_method = inspect.signature(method).parameters
    assert list(of_function)[1:] == list(of_method)[1:]
    for argument in list(of_function)[1:]:
        assert of_function[argument].default == of_method[argument].default
        assert of_function[argument].kind == of_method[argument].kind
    program = dpl.Program(TWO_WAYS)
    found = getattr(dpl.Model(program), name)("s(X)", budget=dpl.Budget(max_seconds=60))
    assert str(found) == str(function(program, "s(X)", budget=dpl.Budget(max_seconds=60)))


@pytest.mark.parametrize("method", ["graph", "tabled"])
def test_the_method_can_be_asked_for_everywhere(method: str) -> None:
    program = dpl.Program(TWO_WAYS)
    model = dpl.Model(program)
    for name in ("success", "prob", "bounds", "answers", "predict", "provable"):
        getattr(dpl, name)(program, "s(X)", method=method)
        getattr(model, name)("s(X)", method=method)
    assert dpl.success(program, "s(X)", method=method).method == method  # type: ignore[arg-type]


def test_values_of_the_questions() -> None:
    model = dpl.Model(dpl.Program(TWO_WAYS))
    assert model.exact_fraction("s(X)") == Fraction(832, 1000)
    assert model.provable("s(a)")
    assert not model.provable("s(c)")
    program = dpl.Program("p :- q. q.")
    scored = dpl.Model(program, scorer=dpl.ClauseWeights(program))
    with pytest.raises(dpl.ProgramError, match="no fractions"):
        scored.exact_fraction("p")


def test_the_former_name_of_success() -> None:
    with pytest.warns(DeprecationWarning, match="dpl.measure is now called dpl.success"):
        found = dpl.measure(dpl.Program(TWO_WAYS), "s(a)")
    assert found == dpl.success(dpl.Program(TWO_WAYS), "s(a)")


def test_losses_have_one_shape() -> None:
    model = dpl.Model(dpl.Program("t(0.3) :: p(a). t(0.7) :: p(b). q :- p(a)."))
    for found in (dpl.smc_loss(model, ["q"]), dpl.reinforce_loss(model, ["q"])):
        assert isinstance(found, dpl.Loss)
        loss, log_prob, diagnostics = found
        assert loss is found.loss
        assert log_prob.exp().tolist() == pytest.approx([0.3])
        assert diagnostics.lost == 0
    for history in (
        dpl.fit(model, ["q"], epochs=2), dpl.reinforce(model, ["q"], dpl.Reinforce(epochs=2)),
    ):  # fmt: skip
        assert isinstance(history, dpl.History)
        assert len(history.losses) == 2


# -- the model as a module -------------------------------------------------------------------------


def test_a_call_is_log_prob_and_hooks_see_it() -> None:
    model, goals = neural(), pictures()
    seen: list[Tensor] = []
    model.register_forward_hook(lambda module, inputs, output: seen.append(output))
    found = model(goals)
    torch.testing.assert_close(found, model.log_prob(goals))
    assert seen[0] is found
    assert len(seen) == 1


@pytest.fixture
def process_group(tmp_path: Path) -> Iterator[None]:
    file = (tmp_path / "store").as_uri()
    torch.distributed.init_process_group("gloo", init_method=file, rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def test_data_in_parallel(process_group: None) -> None:
    """Two steps: what a model does not train must not be waited for in the second."""
    alone, goals = neural(), pictures()
    side_by_side = DistributedDataParallel(neural())
    rules = [torch.optim.SGD(m.parameters(), lr=0.5) for m in (alone, side_by_side)]
    for _ in range(2):
        for model, rule in zip((alone, side_by_side), rules, strict=True):
            rule.zero_grad()
            (-model(goals).mean()).backward()
            rule.step()
    for p, q in zip(alone.parameters(), side_by_side.module.parameters(), strict=True):
        torch.testing.assert_close(p, q)


def test_compile_without_goals_is_torchs_own() -> None:
    calls: list[object] = []

    def backend(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> object:
        calls.append(graph)
        return graph.forward

    model = neural()
    assert model._compiled_call_impl is None
    assert model.compile(backend=backend) is None
    assert model._compiled_call_impl is not None
    with pytest.raises(dpl.ModelError, match="backend is an option of torch's compile"):
        model.compile(["q(a)"], backend=backend)


# -- the command line ------------------------------------------------------------------------------


def version() -> str:
    return f"dprl {dpl.__version__}\n"


@pytest.mark.parametrize("module", ["deepprooflog", "deepprooflog.cli"])
def test_the_package_is_a_command(module: str) -> None:
    command = [sys.executable, "-m", module, "--version"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, version())


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/deepprooflog/__init__.py"


def test_no_notice_where_all_is_well() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        neural().log_prob(pictures())
        dpl.prob(dpl.Program(TWO_WAYS), "s(a)")
