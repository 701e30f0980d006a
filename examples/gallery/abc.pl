% gallery/abc.pl
nn(net, [X], L, [a, b, c]) :: letter(X, L).

% The words aⁿbⁿcⁿ, written in pictures; no context-free grammar has them.
word --> block(a, N), block(b, N), block(c, N).

block(_, 0) --> [].
block(L, s(N)) --> [X], { letter(X, L) }, block(L, N).
