% aⁿbⁿ with an argument that counts: (1/3)ⁿ · 2/3, a goal in braces that doubles it.
%? s(2, [a,b], []) = 2/9
%? s(4, [a,a,b,b], []) = 2/27
%? s(4, [a,b], []) = 0
%? s(N, [a,a,a,b,b,b], []) = 2/81
1/3 :: s(N) --> [a], s(M), [b], { N is M + 2 }.
2/3 :: s(0) --> [].
