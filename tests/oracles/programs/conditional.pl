% Heads keeps the stake, tails draws again: won = 1/2 · 1/5 + 1/2 · 3/5 · 1/5.
%? won = 4/25
%? drawn = 1/10
1/2 :: coin(heads).
1/2 :: coin(tails).
1/5 :: prize(gold).
3/5 :: prize(lead).
won :- coin(C), ( C == heads -> Need = [gold] ; Need = [lead,gold] ), all(Need).
drawn :- coin(C), ( C == heads -> N = 1 ; N = 2 ), N =:= 1, prize(gold).
all([]).
all([X|Xs]) :- prize(X), all(Xs).
