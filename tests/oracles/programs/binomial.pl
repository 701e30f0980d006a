% Four fair coins: C(4, k)/16.
%? flips(4, 2) = 3/8
%? flips(4, 0) = 1/16
%? flips(3, 3) = 1/8
%? flips(3, 4) = 0
1/2 :: coin(0).
1/2 :: coin(1).
flips(0, 0).
flips(N, K) :- N > 0, coin(C), M is N - 1, flips(M, J), K is J + C.
