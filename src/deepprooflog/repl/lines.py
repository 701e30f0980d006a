"""Where lines come from: a terminal with line editing, or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Protocol

from deepprooflog.repl.completion import Words, completions
from deepprooflog.repl.history import past_lines, remember
from deepprooflog.repl.keys import read_key


class Lines(Protocol):
    """A source of lines; `live` where someone sits before it."""

    live: bool

    def line(self, prompt: str) -> str:
        """The next line; raises EOFError after the last, KeyboardInterrupt for Ctrl-C."""

    def key(self) -> str:
        """The next key, without Enter."""


class PipedLines:
    """Lines of a pipe or a file, without prompts."""

    live = False

    def line(self, prompt: str) -> str:
        found = sys.stdin.readline()
        if not found:
            raise EOFError
        return found.rstrip("\n")

    def key(self) -> str:
        raise EOFError


class PlainLines:
    """Lines of a terminal by the standard library: with readline where Python has it."""

    live = True

    def __init__(self, words: Callable[[], Words]) -> None:
        self.words = words
        try:
            import readline
        except ImportError:
            return
        self._offered: list[str] = []
        readline.set_auto_history(False)
        for line in past_lines():
            readline.add_history(line)
        readline.set_completer_delims(" \t\n()[],;|")
        readline.set_completer(self._complete)
        edit_line = "libedit" in (readline.__doc__ or "")
        readline.parse_and_bind("bind ^I rl_complete" if edit_line else "tab: complete")

    def _complete(self, text: str, state: int) -> str | None:
        import readline

        if state == 0:
            before = readline.get_line_buffer()[: readline.get_endidx()]
            word, found = completions(before, self.words())
            # Readline replaces what stands after its own delimiters: the rest is there already.
            kept = len(word) - len(text)
            self._offered = [one[kept:] for one in found]
        return self._offered[state] if state < len(self._offered) else None

    def line(self, prompt: str) -> str:
        found = input(prompt)
        if found.strip():
            remember(found)
            if "readline" in sys.modules:
                import readline

                readline.add_history(found)
        return found

    def key(self) -> str:
        return read_key()


def open_lines(words: Callable[[], Words], *, plain: bool = False) -> Lines:
    """The best source there is: prompt_toolkit, plain input, or a pipe's lines."""
    if not sys.stdin.isatty():
        return PipedLines()
    if not plain and sys.stdout.isatty():
        try:
            from deepprooflog.repl.prompt import PromptLines
        except ImportError:
            return PlainLines(words)
        return PromptLines(words)
    return PlainLines(words)
