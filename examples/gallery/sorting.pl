% gallery/sorting.pl
nn(net, [X], D, 0..9) :: digit(X, D).

% The digits in ascending order; what is read so far is kept sorted, so its order does not matter.
sorted(Xs, Sorted) :- sorted(Xs, [], Sorted).

sorted([], Sorted, Sorted).
sorted([X|Xs], SoFar, Sorted) :- digit(X, D), msort([D|SoFar], Next), sorted(Xs, Next, Sorted).
