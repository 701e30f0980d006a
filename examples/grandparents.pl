% grandparents.pl
grandparent(X, Y) :- parent(X, Z), parent(Z, Y).
parent(X, Y) :- mother(X, Y).
parent(X, Y) :- father(X, Y).

mother(ann, bea).    mother(dora, eli).
father(carl, dora).  father(bo, eli).
