"""What every top level has: questions, commands and settings, whatever is asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deepprooflog.errors import DataError
from deepprooflog.repl.completion import Words, in_order
from deepprooflog.repl.console import Console
from deepprooflog.repl.settings import TopLevelSettings


@dataclass(frozen=True)
class TopLevelCommand:
    """A line that begins with a colon: its name, what follows it, and what it does."""

    name: str
    argument: str
    about: str
    run: Callable[[Console, str], None]


class Leave(Exception):
    """The session is to end."""


class TopLevel(ABC):
    """Something that is asked line by line."""

    settings: TopLevelSettings
    used: tuple[str, ...]  # the settings that bear on its questions

    @abstractmethod
    def greeting(self) -> str:
        """What is asked, in one line."""

    @abstractmethod
    def reload(self) -> str:
        """Read it again, and say what was read; where that fails, the earlier one stays."""

    @abstractmethod
    def ask(self, console: Console, query: str) -> None:
        """Answer a line without a colon."""

    @abstractmethod
    def questions(self) -> Sequence[TopLevelCommand]:
        """The commands that ask."""

    @abstractmethod
    def goals_and_names(self) -> tuple[Sequence[str], Sequence[str]]:
        """What completion offers: predicates, and names in their arguments."""

    def words(self) -> Words:
        """What completion offers on the whole."""
        goals, names = self.goals_and_names()
        commands = in_order(f":{one.name}" for one in self.commands())
        return Words(commands, in_order(self.used), goals, names)

    def commands(self) -> list[TopLevelCommand]:
        """All commands, in the order in which help shows them."""
        return [
            *self.questions(),
            TopLevelCommand(
                "set", "[NAME VALUE]", "limits of a question; off lifts one", self._set
            ),
            TopLevelCommand("reload", "", "read it again", self._reload),
            TopLevelCommand("help", "", "this list", self._help),
            TopLevelCommand("quit", "", "leave, as Ctrl-D does", self._quit),
        ]

    def command(self, console: Console, line: str) -> None:
        """Do what a line with a colon says; an unambiguous beginning of a name will do."""
        name, _, argument = line[1:].partition(" ")
        known = self.commands()
        found = [one for one in known if one.name == name]
        found = found or [one for one in known if name and one.name.startswith(name)]
        if len(found) != 1:
            names = ", ".join(f":{one.name}" for one in found or known)
            what = "could be several commands" if found else "is no command"
            raise DataError(f":{name} {what}", hint=names)
        wanted = found[0].argument
        if wanted.isalpha() and not argument.strip(" ."):  # what may be left out has brackets
            hint = f":{found[0].name} {wanted}"
            raise DataError(f":{found[0].name} needs a {wanted.lower()}", hint=hint)
        found[0].run(console, argument.strip())

    def _set(self, console: Console, argument: str) -> None:
        words = argument.split()
        if len(words) == 2:
            if words[0] not in self.used:
                raise DataError(f"there is no setting {words[0]}", hint=", ".join(self.used))
            self.settings = self.settings.changed(*words)
        elif words:
            raise DataError("a setting has a name and a value", hint=":set seconds 10")
        shown = {name: self.settings.shown(name) for name in self.used}
        wide = max(map(len, shown))
        console.reply(
            "\n".join(f"{name:<{wide}}  {value}" for name, value in shown.items()),
            {"settings": {name: getattr(self.settings, name) for name in self.used}},
        )

    def _reload(self, console: Console, argument: str) -> None:
        read = self.reload()
        console.reply(read, {"read": read})

    def _help(self, console: Console, argument: str) -> None:
        rows = {"QUERY": self.ask.__doc__ or ""}
        rows |= {f":{one.name} {one.argument}".rstrip(): one.about for one in self.commands()}
        wide = max(map(len, rows))
        lines = [f"{left:<{wide}}  {right}" for left, right in rows.items()]
        lines.append("Ctrl-C stops a question, Tab completes a word, the arrows bring lines back")
        console.reply("\n".join(lines), {"help": rows})

    def _quit(self, console: Console, argument: str) -> None:
        raise Leave
