% gallery/sum.pl
nn(net, [X], D, 0..9) :: digit(X, D).

% The sum of all digits as one number: after i pictures it is one of 9 i + 1.
sum([], Sum, Sum).
sum([X|Xs], SoFar, Sum) :- digit(X, D), Next is SoFar + D, sum(Xs, Next, Sum).
