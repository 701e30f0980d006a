% two_ways.pl
0.4 :: s(X) :- p(X), p(X).      % with 0.4, draw p twice; both draws must agree
0.6 :: s(X) :- q(X).            % with 0.6, draw q once

0.3 :: p(a).    0.7 :: p(b).
0.2 :: q(a).    0.8 :: q(b).
