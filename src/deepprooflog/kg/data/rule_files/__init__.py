"""Files of rules: the formats they are read from and written in."""
