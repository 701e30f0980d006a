% The first door is taken; the host opens another without the prize. Changing wins 2/3.
%? stay = 1/3
%? change = 2/3
1/3 :: prize(1).
1/3 :: prize(2).
1/3 :: prize(3).
1/2 :: opens(1, 2).
1/2 :: opens(1, 3).
1 :: opens(2, 3).
1 :: opens(3, 2).
left(2, 3).
left(3, 2).
stay :- prize(P), opens(P, _), P = 1.
change :- prize(P), opens(P, H), left(H, N), N = P.
