"""Lines by prompt_toolkit: a menu of completions, history by arrows and Ctrl-R."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import History
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.output import create_output
from prompt_toolkit.styles import Style

from deepprooflog.repl.completion import Words, completions
from deepprooflog.repl.history import past_lines, remember
from deepprooflog.repl.keys import read_key


class PromptLines:
    """Lines of a terminal with a menu of completions."""

    live = True

    def __init__(self, words: Callable[[], Words]) -> None:
        # Not the stream in `sys.stdout`, which may show what a terminal would obey.
        self.session: PromptSession[str] = PromptSession(
            history=_Past(), completer=_Menu(words), complete_while_typing=False,
            enable_history_search=False, output=create_output(stdout=sys.__stdout__),
            style=Style.from_dict({"prompt": "bold ansigreen"}),
        )  # fmt: skip

    def line(self, prompt: str) -> str:
        return self.session.prompt([("class:prompt", prompt)])

    def key(self) -> str:
        # What was typed before it was asked for has been read by prompt_toolkit.
        ahead = get_typeahead(self.session.input)
        if not ahead:
            return read_key()
        store_typeahead(self.session.input, ahead[1:])
        return ahead[0].data


class _Menu(Completer):
    def __init__(self, words: Callable[[], Words]) -> None:
        self.words = words

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        word, found = completions(document.text_before_cursor, self.words())
        for one in found:
            yield Completion(one, start_position=-len(word))


class _Past(History):
    """The same file that the plain top level keeps."""

    def load_history_strings(self) -> Iterable[str]:
        return reversed(past_lines())

    def store_string(self, string: str) -> None:
        if string.strip():
            remember(string)
