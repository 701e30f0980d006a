% Fifty steps, each kept with 9/10.
%? down(50) = (9/10)^50
%? down(1) = 9/10
down(0).
down(N) :- N > 0, keep, M is N - 1, down(M).
9/10 :: keep.
