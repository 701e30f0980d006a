% Draws −1, 0, 2 with 1/4, 1/4, 1/2; the cut makes the second clause the default.
%? p(neg) = 1/4
%? p(pos) = 3/4
%? p(_) = 1
1/4 :: x(-1).
1/4 :: x(0).
1/2 :: x(2).
p(S) :- x(X), sign(X, S).
sign(X, S) :- X < 0, !, S = neg.
sign(_, pos).
