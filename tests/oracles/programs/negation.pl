% Two uniform draws of three differ with 2/3; the third differs from both with 1/3: 2/9 in all.
%? two = 2/3
%? three = 2/9
1/3 :: c(a).
1/3 :: c(b).
1/3 :: c(d).
two :- c(X), c(Y), \+ X = Y.
three :- c(X), c(Y), X \== Y, c(Z), \+ (member(W, [X,Y]), W == Z).
