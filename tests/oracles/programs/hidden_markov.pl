% Two states, two symbols, forward by hand. α₁ = (½·¾, ½·¼) = (3/8, 1/8) on x.
% On y: α₂(h) = (3/8·2/3 + 1/8·1/3)·1/4 = 7/96, α₂(k) = (3/8·1/3 + 1/8·2/3)·3/4 = 5/32; sum 11/48.
%? word([x]) = 1/2
%? word([x,y]) = 11/48
%? word([_,_,_]) = 1
word([O|Os]) :- first(S), emit(S, O), rest(Os, S).
rest([], _).
rest([O|Os], S) :- next(S, T), emit(T, O), rest(Os, T).
1/2 :: first(h).
1/2 :: first(k).
2/3 :: next(h, h).
1/3 :: next(h, k).
1/3 :: next(k, h).
2/3 :: next(k, k).
3/4 :: emit(h, x).
1/4 :: emit(h, y).
1/4 :: emit(k, x).
3/4 :: emit(k, y).
