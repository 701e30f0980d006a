% Right or down with ½ each on a grid: the paths to (2, 2) are C(4, 2), each 1/16; (1, 1) is on 4 of 6.
%? reach(0, 0, 2, 2) = 3/8
%? reach(0, 0, 1, 1) = 1/2
%? reach(0, 0, 1, 1), reach(1, 1, 2, 2) = 1/4
1/2 :: move(X, Y, X1, Y) :- X1 is X + 1.
1/2 :: move(X, Y, X, Y1) :- Y1 is Y + 1.
reach(X, Y, X, Y) :- !.
reach(X, Y, U, V) :- X =< U, Y =< V, move(X, Y, X1, Y1), reach(X1, Y1, U, V).
