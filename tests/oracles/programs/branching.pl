% p = 3/4 p² + 1/4 has the roots 1/3 and 1; the probability is the least.
%! infinite
%? p = 1/3
%? p, p = 1/9
3/4 :: p :- p, p.
1/4 :: p.
