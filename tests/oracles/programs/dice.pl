% Two dice: 6 of 36 pairs sum to 7. Three dice: 27 of 216 triples sum to 10.
%? two(7) = 1/6
%? two(12) = 1/36
%? three(10) = 1/8
1/6 :: d(1).
1/6 :: d(2).
1/6 :: d(3).
1/6 :: d(4).
1/6 :: d(5).
1/6 :: d(6).
two(S) :- d(A), d(B), S is A + B.
three(S) :- d(A), d(B), d(C), S is A + B + C.
