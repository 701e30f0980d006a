% Ruin with win probability p = 2/3 and r = (1−p)/p = 1/2: from k to 4 before 0, (1 − rᵏ)/(1 − r⁴).
%? from(1) = 8/15
%? from(2) = 4/5
%? from(3) = 14/15
from(4).
from(1) :- bet(up), from(2).
from(2) :- bet(B), go2(B).
from(3) :- bet(B), go3(B).
go2(up) :- from(3).
go2(down) :- from(1).
go3(up) :- from(4).
go3(down) :- from(2).
2/3 :: bet(up).
1/3 :: bet(down).
