% A label is the share of the rule's conclusions that hold in the whole village.
1.0 :: husband(X, Y) :- wife(Y, X).
1.0 :: wife(X, Y) :- husband(Y, X).
1.0 :: father(X, Y) :- husband(X, Z), mother(Z, Y).
1.0 :: mother(X, Y) :- wife(X, Z), father(Z, Y).
0.639 :: brother(X, Y) :- brother(X, Z), sister(Z, Y).
1.0 :: uncle(X, Y) :- brother(X, Z), father(Z, Y).
1.0 :: uncle(X, Y) :- brother(X, Z), mother(Z, Y).
1.0 :: uncle(X, Y) :- husband(X, Z), aunt(Z, Y).
1.0 :: aunt(X, Y) :- sister(X, Z), father(Z, Y).
1.0 :: aunt(X, Y) :- sister(X, Z), mother(Z, Y).
1.0 :: aunt(X, Y) :- wife(X, Z), uncle(Z, Y).
1.0 :: ancestor(X, Y) :- father(X, Y).
1.0 :: ancestor(X, Y) :- mother(X, Y).
1.0 :: ancestor(X, Z) :- father(X, Y), ancestor(Y, Z).
1.0 :: ancestor(X, Z) :- mother(X, Y), ancestor(Y, Z).
1.0 :: lives_in(X, P) :- wife(X, Y), lives_in(Y, P).
1.0 :: lives_in(X, P) :- husband(X, Y), lives_in(Y, P).
0.568 :: works_at(X, P) :- father(Y, X), works_at(Y, P).
1.0 :: within(X, Y) :- part_of(X, Y).
1.0 :: within(X, Z) :- part_of(X, Y), within(Y, Z).
