"""The plain solver: a machine for SLD resolution in source order, and its compiler."""
