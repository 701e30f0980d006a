"""What the pages show is what happens: their commands are run, their programs are the examples.

In README.md and the pages below docs/

- a ```console block holds `$ dprl …` lines, each followed by its output, where `...` stands for
  anything; it runs in the folder examples/;
- a ```prolog block whose first line is `% name.pl` shows the file examples/name.pl, all of it
  (`% folder/name.pl` one in a folder);
- a ```python block is a doctest, run in examples/ too, unless its first line is `# name.py`: a new
  file, which tests/test_extending.py adds to the package.

A page below docs/tutorials/ is one session from top to bottom: its console and python blocks run in
order, in a copy of examples/, names and files of earlier blocks at hand.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from deepprooflog.cli import COMMANDS, main

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r"% ([\w/]+\.pl)\n")
NEW_FILE = re.compile(r"# [\w/]+\.py\n")
OPTIONS = doctest.ELLIPSIS


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT).as_posix()}:{self.line}"


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, match.start()) + 1, match[1], match[2])
        for match in FENCE.finditer(text)
    ]


def blocks(language: str) -> list[Block]:
    """The blocks of the pages in one language; those that a tutorial runs are left to it."""
    run = language in ("console", "python")
    pages = [page for page in PAGES if not (run and page in TUTORIALS)]
    return [block for page in pages for block in blocks_of(page) if block.language == language]


def commands(block: Block) -> list[tuple[str, str]]:
    """The block's `$` lines, each with the output below it."""
    parts = re.split(r"^\$ (.*)\n", block.text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def output_of(command: str) -> str:
    """Run one `dprl …` line and give what a terminal would show."""
    words = shlex.split(command, comments=True)
    assert words[0] == "dprl", f"only dprl commands are run, not {words[0]}"
    shown = io.StringIO()
    # argparse leaves by SystemExit after --help and after an unknown option.
    with (
        contextlib.redirect_stdout(shown),
        contextlib.redirect_stderr(shown),
        contextlib.suppress(SystemExit),
    ):
        main(words[1:])
    return shown.getvalue()


@pytest.mark.parametrize("block", blocks("console"), ids=str)
def test_commands_print_what_is_shown(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = commands(block)
    if not any(command.startswith("dprl") for command, _ in lines):
        assert all(command.startswith(("make", "pip", "git")) for command, _ in lines)
        return
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.setenv("COLUMNS", "100")
    run_commands(block)


def run_commands(block: Block) -> None:
    for command, expected in commands(block):
        got = output_of(command)
        same = doctest.OutputChecker().check_output(expected, got, OPTIONS)
        assert same, f"{block}: $ {command}\nexpected:\n{expected}\ngot:\n{got}"


@pytest.mark.parametrize(
    "block", [block for block in blocks("prolog") if TITLE.match(block.text)], ids=str
)
def test_programs_are_the_examples(block: Block) -> None:
    title = TITLE.match(block.text)
    assert title
    assert (EXAMPLES / title[1]).read_text(encoding="utf-8") == block.text


@pytest.mark.parametrize(
    "block", [block for block in blocks("python") if not NEW_FILE.match(block.text)], ids=str
)
def test_python_blocks_are_doctests(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)
    run_python(block, {})


def run_python(block: Block, names: dict[str, object]) -> None:
    """Run a block as a doctest; what it defines joins the names."""
    test = doctest.DocTestParser().get_doctest(block.text, names, str(block), str(block.page), 0)
    assert test.examples, "a python block shows its results with >>>"
    failures: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=failures.append, clear_globs=False)
    names.update(test.globs)
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_tutorials_run_from_top_to_bottom(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "examples"
    shutil.copytree(EXAMPLES, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    names: dict[str, object] = {}
    session = [block for block in blocks_of(page) if block.language in ("console", "python")]
    assert session
    for block in session:
        if block.language == "python":
            run_python(block, names)
        else:
            run_commands(block)


# Pages about the inside: how it is built, and what is added to it.
INSIDE = {ROOT / "docs" / "extending.md", ROOT / "docs" / "how-it-is-built.md"}
# Files that stand for themselves: what needs an extra, and single ones beside the packages.
FILES = {"data.digits", "device", "mdp.gymnasium_env", "mdp.torchrl_env"}
IMPORT = re.compile(r"(?:from|import) deepprooflog\.([\w.]+)")


@pytest.mark.parametrize(
    "path",
    [page for page in PAGES if page not in INSIDE]
    + [ROOT / "src" / "deepprooflog" / "demo.py", *sorted(EXAMPLES.rglob("*.py"))],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_users_import_from_packages(path: Path) -> None:
    """What a page, the demo or an example uses is gathered by a package, not fetched from files."""
    for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for module in IMPORT.findall(text):
            package = ROOT / "src" / "deepprooflog" / module.replace(".", "/")
            assert package.is_dir() or module in FILES, f"{path}:{line}: deepprooflog.{module}"


def test_the_first_page_names_every_page_and_command() -> None:
    first = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").glob("*.md")}
    pages |= {f"tutorials/{page.name}" for page in TUTORIALS}
    assert {page for page in pages - {"index.md"} if f"({page})" not in first} == set()
    assert {name for name in COMMANDS if f"`dprl {name}" not in first} == set()


def test_every_example_is_read() -> None:
    """An example that does not load would greet its first user with an error."""
    from deepprooflog.logic.program import Program

    programs = sorted(EXAMPLES.rglob("*.pl"))
    assert programs
    for path in programs:
        Program.read(path)
