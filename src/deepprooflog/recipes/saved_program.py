"""Opening the saved model of a program: its networks and scorer are given again as modules."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from itertools import zip_longest
from pathlib import Path

from torch import Tensor, nn

from deepprooflog.errors import DataError, Notice
from deepprooflog.learn.run.folder import RunFolder
from deepprooflog.logic.program import Program
from deepprooflog.model import Model
from deepprooflog.score.model_folder import KeptModel, read_kept, read_weights
from deepprooflog.score.network import Network
from deepprooflog.score.scorer import Scorer, Unit

GivenScorer = Scorer | Callable[[Program], Scorer]


def open_program(
    run: RunFolder,
    networks: Mapping[str, nn.Module] | None = None,
    scorer: GivenScorer | None = None,
    program: Program | None = None,
) -> Model:
    """The model that `Model.save` wrote, with the networks and the scorer that are given again."""
    path = run.path
    kept = read_kept(run.config()["options"], path / "config.json")
    if program is None:
        _tell_of_changes(kept, path)
    own = kept.program() if program is None else program
    modules = _networks(kept, dict(networks or {}), path)
    model = Model(own, modules, _scorer(kept, scorer, own, path))
    weights = read_weights(path)
    _check_shapes(weights, model.state_dict(), path)
    model.load_state_dict(weights)
    return model.eval()


def _networks(kept: KeptModel, given: dict[str, nn.Module], path: Path) -> dict[str, nn.Module]:
    missing = [name for name in kept.networks if name not in given]
    if missing:
        shown = ", ".join(f"{name} ({kept.networks[name].module})" for name in missing)
        entries = ", ".join(f'"{name}": module' for name in kept.networks)
        raise DataError(
            f"weights are kept, and not the code of networks: missing are {shown}", file=str(path),
            hint=f"dpl.load(folder, networks={{{entries}}})",
        )  # fmt: skip
    for name, one in kept.networks.items():
        module = given[name]
        if one.numbered and not (isinstance(module, Network) and module.number is not None):
            raise DataError(
                f"the network {name} was given the numbers of terms", file=str(path),
                hint=f'networks={{"{name}": dpl.Network(module, number=...)}}',
            )  # fmt: skip
        if not isinstance(module, Network):
            given[name] = Network(module, outputs=one.outputs)
    return given


def _scorer(
    kept: KeptModel, given: GivenScorer | None, program: Program, path: Path
) -> Scorer | None:
    if given is not None and not isinstance(given, Scorer):
        given = given(program)
    name = Unit.__name__ if given is None else type(given).__name__
    if name != kept.scorer:
        raise DataError(
            f"the model was saved with the scorer {kept.scorer}, and {name} is given",
            file=str(path),
            hint="leave scorer out"
            if kept.scorer == Unit.__name__
            else f"dpl.load(folder, scorer=lambda program: {kept.scorer}(program, ...))",
        )
    return given


def _check_shapes(kept: Mapping[str, Tensor], own: Mapping[str, object], path: Path) -> None:
    """Refuse modules whose weights have other names, shapes or types than those kept."""
    # Labels say themselves which clause differs.
    names = [name for name in {**kept, **own} if not name.startswith("labels.")]
    for name in names:
        theirs, ours = _shape(kept.get(name)), _shape(own.get(name))
        if theirs != ours:
            raise DataError(
                f"the modules given do not fit: {name} is {theirs} in the folder, {ours} here",
                file=str(path), hint="modules made as those that were saved",
            )  # fmt: skip


def _shape(value: object) -> str:
    if not isinstance(value, Tensor):
        return "absent"
    return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"


def _tell_of_changes(kept: KeptModel, path: Path) -> None:
    """Say where the program's file differs from the text that is kept."""
    try:
        now = Path(kept.file).read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError):
        return  # no file, or it is gone: the text that is kept answers
    pairs = enumerate(zip_longest(kept.lines, now), 1)
    changed = [(n, was, line) for n, (was, line) in pairs if was != line]
    if changed:
        n, was, line = changed[0]
        shown = ["no line" if text is None else f"`{text}`" for text in (was, line)]
        warnings.warn(
            f"{path} answers from the program as it was saved; {kept.file} has changed since in "
            f"{len(changed)} of its lines, the first is {n}: {shown[0]} was saved, {shown[1]} is "
            "there now; dpl.load(folder, program=...) takes another",
            Notice,
            stacklevel=4,
        )
