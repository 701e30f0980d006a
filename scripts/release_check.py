"""Build what would be released and try it as a stranger would: `make release-check`.

    python scripts/release_check.py --out build/release [--pip-args '--extra-index-url …']

1. The version, which stands in `deepprooflog.__version__` alone, has its notes in CHANGELOG.md; a
   development version (`.dev`) has those of [Unreleased]. They become `release-notes.md`; notes
   under [Unreleased] beside a version that has its own are told.
2. hatchling, in an environment of its own, builds the sdist, and the wheel from the sdist.
3. Wheel and sdist are installed, each in a new environment under constraints.txt, and run from an
   empty folder: probabilities, a proof, a part of the demo, a graph that comes with the package.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = "0.4 :: s(X) :- p(X), p(X). 0.6 :: s(X) :- q(X). 0.3 :: p(a). 0.2 :: q(a)."
# Each command with what its output must hold: 0.4 · 0.3² + 0.6 · 0.2 = 0.156.
SMOKE = (
    ("dprl --version", "{version}"),
    ("dprl prob two_ways.pl s(a)", "0.156"),
    ("dprl prove two_ways.pl s(a)", "probability 0.12"),
    ("dprl demo --part program", "104/125"),
    (
        "dprl train kg --set data=village --set prior=none --set exact.steps=1 --set exact.batch=4 "
        "--set threads=1 --set evaluation.test_size=5 --out run",
        "p_success",
    ),
    ("dprl explain run father(caspar_ashgrove,max_ashgrove)", "fact  (village/train.pl:"),
    ("dprl train mnist-addition --set help", "training.lr"),
)


def version_of(root: Path) -> str:
    """The version, from the one place it stands in."""
    text = (root / "src" / "deepprooflog" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert found is not None
    return found[1]


def release_notes(changelog: str, version: str) -> str:
    """The notes of a version: its section of the changelog.

    >>> release_notes("# Changelog\\n\\n## [0.2.0] - 2026-01-02\\n\\n- More.\\n", "0.2.0")
    '## [0.2.0] - 2026-01-02\\n\\n- More.\\n'
    """
    name = "Unreleased" if ".dev" in version else version
    dated = "" if ".dev" in version else r" - \d{4}-\d\d-\d\d"
    section = re.compile(rf"^## \[{re.escape(name)}\]{dated}\n.*?(?=^## \[|\Z)", re.M | re.S)
    found = section.search(changelog)
    if found is None:
        sys.exit(f"CHANGELOG.md has no section '## [{name}]', with its date, for {version}")
    return found[0]


def left_out(changelog: str, version: str) -> str:
    """What to say where the tree holds changes that the notes of its version do not name.

    >>> left_out("## [Unreleased]\\n\\n## [0.2.0] - 2026-01-02\\n\\n- More.\\n", "0.2.0")
    ''
    """
    if ".dev" in version or "\n## [Unreleased]\n" not in f"\n{changelog}":
        return ""
    count = release_notes(changelog, ".dev").count("\n- ")
    return "" if count == 0 else (
        f"note: {count} notes stand under [Unreleased], and not in those of {version}: what is "
        "built here has these changes\n"
        "try: a new version with its date over them, or build where the tag is"
    )  # fmt: skip


def build(python: Path, out: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel made from it."""
    run([python, "-m", "hatchling", "build", "-t", "sdist", "-d", out], ROOT)
    (sdist,) = out.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(out / "unpacked", filter="data")
    (source,) = (out / "unpacked").iterdir()
    run([python, "-m", "hatchling", "build", "-t", "wheel", "-d", out], source)
    shutil.rmtree(out / "unpacked")
    (wheel,) = out.glob("*.whl")
    return sdist, wheel


def environment(folder: Path, *packages: str | Path, pip_args: str) -> Path:
    """A new environment with these packages; its interpreter."""
    venv.create(folder, with_pip=True, clear=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    constraints = ["-c", ROOT / "constraints.txt"]
    quiet = ["--quiet", "--disable-pip-version-check"]
    run([python, "-m", "pip", "install", *quiet, *shlex.split(pip_args), *constraints, *packages])
    return python


def smoke(python: Path, folder: Path, version: str) -> None:
    """Run the commands of an installed library from an empty folder."""
    folder.mkdir()
    (folder / "two_ways.pl").write_text(PROGRAM, encoding="utf-8")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "DEEPPROOFLOG"))}
    for command, expected in SMOKE:
        words = [str(python), "-m", "deepprooflog", *command.split()[1:]]
        done = subprocess.run(words, cwd=folder, env=clean, capture_output=True, text=True)
        shown = done.stdout + done.stderr
        if done.returncode or expected.format(version=version) not in shown:
            sys.exit(f"$ {command}\n{shown}\nstatus {done.returncode}, expected {expected}")
        print(f"  ok  {command}")


def run(command: list[str | Path], folder: Path = ROOT) -> None:
    subprocess.run([str(word) for word in command], cwd=folder, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--pip-args", default="", help="given to every pip install")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    version = version_of(ROOT)
    notes = release_notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    (out / "release-notes.md").write_text(notes, encoding="utf-8")
    print(f"deepprooflog {version}")
    if note := left_out((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), version):
        print(note)
    tools = environment(out / "tools", "hatchling", pip_args=arguments.pip_args)
    for artifact in reversed(build(tools, out)):
        print(artifact.name)
        python = environment(out / "clean", artifact, pip_args=arguments.pip_args)
        smoke(python, out / "empty", version)
        shutil.rmtree(out / "empty")
    shutil.rmtree(out / "clean")
    shutil.rmtree(out / "tools")
    print(f"sdist, wheel and notes are in {out}")


if __name__ == "__main__":
    main()
