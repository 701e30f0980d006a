"""Registers the environment with Gymnasium, without importing it before anyone else does.

Most users never need Gymnasium and should not wait for it to load: where it is loaded already, the
environment is registered at once, otherwise when it is first imported.
"""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

ID = "deepprooflog/Proof-v0"
MODULE = "deepprooflog.mdp.gymnasium_env"


def register() -> None:
    """Make `gymnasium.make("deepprooflog/Proof-v0", program=…, queries=…)` work."""
    import gymnasium

    if ID not in gymnasium.registry:
        gymnasium.register(
            ID, entry_point=f"{MODULE}:ProofEnv", vector_entry_point=f"{MODULE}:ProofVectorEnv"
        )


def register_when_imported() -> None:
    """Register now if Gymnasium is loaded, else as soon as it is."""
    if "gymnasium" in sys.modules:
        register()
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Notices the import of Gymnasium; one who only asks whether it is there changes nothing."""

    def __init__(self) -> None:
        self.asking = False

    def find_spec(
        self, name: str, path: object, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "gymnasium" or self.asking:
            return None
        self.asking = True
        try:
            spec = find_spec(name)
        finally:
            self.asking = False
        if spec is not None and spec.loader is not None:
            spec.loader = _ThenRegister(spec.loader, self)
        return spec


class _ThenRegister(Loader):
    """Loads a module as its own loader does, then registers."""

    def __init__(self, loader: Loader, finder: _Finder) -> None:
        self.loader, self.finder = loader, finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if self.finder in sys.meta_path:
            sys.meta_path.remove(self.finder)
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        register()
