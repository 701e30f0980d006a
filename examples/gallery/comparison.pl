% gallery/comparison.pl
nn(net, [X], D, 0..9) :: digit(X, D).

% Which of two numbers is larger: the first digits that differ decide.
order([], [], =).
order([X|Xs], [Y|Ys], Order) :-
    digit(X, A), digit(Y, B), compare(First, A, B), order(First, Xs, Ys, Order).

order(<, _, _, <).
order(>, _, _, >).
order(=, Xs, Ys, Order) :- order(Xs, Ys, Order).
