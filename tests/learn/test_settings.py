"""Options by key: sections, booleans, older names, and the message for what is no option."""

from __future__ import annotations

import json
import math
import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprooflog.errors import DataError, Notice
from deepprooflog.kg.learn.options import GraphOptions, PriorOptions, SearchOptions
from deepprooflog.learn.run.options import option_fields
from deepprooflog.learn.run.settings import (
    as_tables,
    assignments,
    described,
    options_from,
    settings,
    values_of,
)
from deepprooflog.recipes.addition.options import AdditionOptions

CLASSES: list[type] = [GraphOptions, AdditionOptions]


def values(metadata: Any, kind: str) -> st.SearchStrategy[Any]:
    """What an option takes."""
    if metadata["choices"]:
        return st.sampled_from(metadata["choices"])
    if kind == "bool":
        return st.booleans()
    if kind == "str":
        return st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)
    low, high = (
        max(metadata["at_least"], metadata["above"]),
        min(metadata["at_most"], metadata["below"]),
    )
    if kind == "int":
        return st.integers(math.ceil(low), math.floor(high))
    inner = st.floats(low, high, exclude_min=metadata["above"] == low,
                      exclude_max=metadata["below"] == high)  # fmt: skip
    return st.none() | inner if kind.endswith("None") else inner


@st.composite
def chosen(draw: st.DrawFn) -> tuple[type, dict[str, Any]]:
    """Some options of a class with values that each takes."""
    options = draw(st.sampled_from(CLASSES))
    known = option_fields(options)
    keys = draw(st.lists(st.sampled_from([*known]), unique=True, max_size=6))
    return options, {key: draw(values(known[key].metadata, str(known[key].type))) for key in keys}


@given(chosen())
def test_keys_tables_texts_and_files_say_the_same(case: tuple[type, dict[str, Any]]) -> None:
    options, drawn = case
    try:
        made: Any = options_from(options, drawn)
    except DataError:  # options that do not go together, as sums=1 alone
        return
    assert {key: values_of(made)[key] for key in drawn} == drawn
    assert options_from(options, json.loads(json.dumps(as_tables(made)))) == made
    texts = {key: _text(value) for key, value in values_of(made).items()}
    assert options_from(options, texts) == made


def _text(value: object) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("True", True), ("1", True), ("false", False), ("0", False), (1, True)],
)
def test_booleans(text: object, value: bool) -> None:
    assert settings(GraphOptions, {"ppo.memory": text}, "--set") == {"ppo.memory": value}


@pytest.mark.parametrize("text", ["yes", "2", "", 2, 1.0, None, []])
def test_what_is_no_boolean(text: object) -> None:
    with pytest.raises(DataError, match=r"--set: ppo\.memory is true or false, not"):
        settings(GraphOptions, {"ppo.memory": text}, "--set")


def test_none_is_a_value_where_there_may_be_none() -> None:
    found = settings(GraphOptions, {"ppo.target_kl": "none", "ppo.entropy_end": 0}, "--set")
    assert found == {"ppo.target_kl": None, "ppo.entropy_end": 0.0}
    with pytest.raises(DataError, match=r"ppo\.clip is a number, not 'none'"):
        settings(GraphOptions, {"ppo.clip": "none"}, "--set")
    with pytest.raises(DataError, match=r"ppo\.target_kl is above 0"):
        settings(GraphOptions, {"ppo.target_kl": "-1"}, "--set")


def test_a_section_by_its_main_option() -> None:
    assert options_from(GraphOptions, {"prior": "rotate"}).prior.kind == "rotate"
    assert options_from(AdditionOptions, {"augment": "none"}).augment.kind == "none"
    with pytest.raises(DataError, match="prior is one of") as no:
        options_from(GraphOptions, {"prior": "rotat"})
    assert no.value.hint == "rotate"


def test_older_names_work_with_one_notice() -> None:
    old = {"prior_lr": "0.5", "look": 7, "nesting": 1}
    with pytest.warns(Notice) as told:
        found = settings(GraphOptions, old, "--set")
    assert [str(w.message) for w in told] == [
        "--set: prior_lr is now prior.lr, look is now exact.validate_every and "
        "ppo.validate_every, nesting is now search.nesting"
    ]
    new = {"prior.lr": 0.5, "exact.validate_every": 7, "ppo.validate_every": 7, "search.nesting": 1}
    assert found == new
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert settings(GraphOptions, new, "--set") == new
        assert settings(GraphOptions, old, "config.json", notice=False) == new


@pytest.mark.parametrize("options", CLASSES)
def test_older_names_are_of_options_that_exist(options: Any) -> None:
    known = option_fields(options)
    assert not known.keys() & options.OLD_NAMES.keys()
    assert {key for keys in options.OLD_NAMES.values() for key in keys} <= known.keys()


def test_one_option_by_two_names_is_refused() -> None:
    for twice in ({"prior_lr": 1, "prior.lr": 1}, {"prior_lr": 1, "prior": {"lr": 1}}):
        with pytest.raises(DataError, match=r"prior_lr and prior\.lr are one option, prior\.lr"):
            settings(GraphOptions, twice, "--set")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("clip", "ppo.clip"),
        ("prior.clip", "ppo.clip"),
        ("ppo.clp", "ppo.clip"),
        ("prior_margn", "prior.margin"),
        ("exact.seed", "seed"),
        ("validate_every", "prior.validate_every or exact.validate_every or ppo.validate_every"),
        ("held-out", "evaluation.validation_share"),
        ("exact", "exact.steps or exact.batch or exact.negatives …"),
        ("quux", "dprl train RECIPE --set help"),
        ("x" * 5000, "dprl train RECIPE --set help"),
    ],
)
def test_what_was_meant(name: str, hint: str) -> None:
    with pytest.raises(DataError) as refused:
        settings(GraphOptions, {name: 1}, "--set")
    assert refused.value.hint == hint
    assert len(str(refused.value)) < 200


def test_limits_hold_in_python_too() -> None:
    with pytest.raises(DataError, match="nesting is at least 0 and at most 100, not 101"):
        SearchOptions(nesting=101)
    with pytest.raises(DataError, match="kind is one of"):
        PriorOptions(kind="nothing")
    with pytest.raises(DataError, match="neither a prior nor a learner"):
        GraphOptions(prior=PriorOptions(kind="none"), learner="none")
    assert GraphOptions(prior=PriorOptions(seed=9), seed=4).prior.seed == 4


def test_help_is_in_sections_and_80_wide() -> None:
    text = described(GraphOptions)
    assert max(map(len, text.splitlines())) < 80
    assert "\n\nprior: the embedding that is believed; prior=KIND sets prior.kind\n" in text
    assert "  ppo.clip=X                  ε: how far a ratio may move" in text
    assert "seed=N" in text
    assert "prior.seed" not in text


def test_a_text_is_cut_at_its_first_sign() -> None:
    assert assignments(["hide=a=b", " seed = 3 "]) == {"hide": "a=b", "seed": "3"}
