% branching.pl
0.6 :: p :- p, p.               % an individual has two children,
0.4 :: p.                       % or none: does the family die out?
