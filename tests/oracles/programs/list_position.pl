% Stop at each element with 1/3: the k-th of a list with (2/3)^(k−1)/3; b stands at 2 and 4.
%? at(a, [a,b,c]) = 1/3
%? at(c, [a,b,c]) = 4/27
%? at(b, [a,b,c,b]) = 26/81
%? at(X, [a,b,c]) = 19/27
1/3 :: at(X, [X|_]).
2/3 :: at(X, [_|Xs]) :- at(X, Xs).
