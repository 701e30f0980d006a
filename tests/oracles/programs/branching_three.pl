% 4/7 t³ + 3/7 = t is 4t³ − 7t + 3 = (t − 1)(2t − 1)(2t + 3) = 0: the least positive root is 1/2.
%! infinite
%? t = 1/2
4/7 :: t :- t, t, t.
3/7 :: t.
