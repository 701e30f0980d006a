% Geometric: n(sᵏ(z)) = 2^−(k+1), and all of them together 1.
%? n(z) = 1/2
%? n(s(s(z))) = 1/8
%? n(s(s(s(s(s(z)))))) = 1/64
1/2 :: n(z).
1/2 :: n(s(X)) :- n(X).
