% u = 3/5 v v + 2/5 and v = 1/2 u + 1/2 w, w = u, so v = u and 3u² − 5u + 2 = 0: u = 2/3 or 1.
%! infinite
%? u = 2/3
%? v = 2/3
3/5 :: u :- v, v.
2/5 :: u.
1/2 :: v :- u.
1/2 :: v :- w.
w :- u.
