"""The top level: a program or a trained graph, asked line by line."""
