% A draw n of 1, 2, 3 with 1/2, 1/3, 1/6 and the sum 1 + … + n.
%? total(1) = 1/2
%? total(3) = 1/3
%? total(6) = 1/6
%? total(2) = 0
1/2 :: n(1).
1/3 :: n(2).
1/6 :: n(3).
total(T) :- n(N), findall(X, between(1, N, X), Xs), sum_list(Xs, T).
