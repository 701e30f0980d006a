% gallery/subtraction.pl
nn(net, [X], D, 0..9) :: digit(X, D).

% The difference of two numbers of as many digits, least significant first, with a borrow.
sub([], [], [], 0).
sub([X|Xs], [Y|Ys], [Z|Zs], Borrow) :-
    digit(X, A), digit(Y, B),
    D is A - B - Borrow, Z is D mod 10, Next is -(D div 10),
    sub(Xs, Ys, Zs, Next).
