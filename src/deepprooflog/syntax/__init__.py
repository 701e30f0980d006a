"""Terms and text: operators, lexer, reader, writer."""

from deepprooflog.syntax.dcg import translate
from deepprooflog.syntax.reader import read_term
from deepprooflog.syntax.writer import write_term

__all__ = ["read_term", "translate", "write_term"]
