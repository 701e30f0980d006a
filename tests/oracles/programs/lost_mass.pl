% Labels that leave mass unused: it is lost at each draw.
%? p = 3/10
%? p, p = 9/100
%? q = 3/50
0.3 :: p.
0.2 :: q :- p.
0.1 :: q :- fail.
