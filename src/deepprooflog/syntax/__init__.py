"""Terms and text: operators, lexer, reader, writer."""
