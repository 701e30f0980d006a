% Two clauses that give the same goal add up; an open head matches everything.
%? p(a) = 1/2
%? q(a) = 1
%? q(b) = 2/3
%? r = 1/2
1/4 :: p(a).
1/4 :: p(a).
2/3 :: q(_).
1/3 :: q(a).
1/3 :: r :- p(a).
2/3 :: r :- p(a).
