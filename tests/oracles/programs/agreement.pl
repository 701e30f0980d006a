% Draws from ½, ¼, ¼ that agree: two times 1/4 + 1/16 + 1/16 = 3/8, three times 1/8 + 2/64 = 5/32.
%? two = 3/8
%? three = 5/32
%? c(X), c(Y), X = Y = 3/8
1/2 :: c(a).
1/4 :: c(b).
1/4 :: c(d).
two :- c(X), c(X).
three :- c(X), c(X), c(X).
