% gallery/expression.pl
nn(net, [X], D, 0..9) :: digit(X, D).

% The value of an expression: products bind tighter than sums, parentheses tightest.
value(Tokens, V) :- expr(V, Tokens, []).

expr(V) --> term(A), sums(A, V).
sums(V, V) --> [].
sums(A, V) --> [+], term(B), { C is A + B }, sums(C, V).
sums(A, V) --> [-], term(B), { C is A - B }, sums(C, V).

term(V) --> factor(A), products(A, V).
products(V, V) --> [].
products(A, V) --> [*], factor(B), { C is A * B }, products(C, V).

factor(V) --> [img(X)], { digit(X, V) }.
factor(V) --> ['('], expr(V), [')'].
