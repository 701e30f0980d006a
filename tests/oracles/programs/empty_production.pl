% aⁿ takes n times 1/2 and then the empty production.
%? s([], []) = 1/2
%? s([a,a], []) = 1/8
%? s([a,b], []) = 0
1/2 :: s --> [].
1/2 :: s --> [a], s.
