% umbrella.pl
0.6 :: first(sun).       0.4 :: first(rain).          % the first day's weather

0.8 :: next(sun, sun).   0.2 :: next(sun, rain).      % from one day to the next
0.4 :: next(rain, sun).  0.6 :: next(rain, rain).

0.1 :: takes(sun, umbrella).    0.9 :: takes(sun, nothing).
0.8 :: takes(rain, umbrella).   0.2 :: takes(rain, nothing).

days([C|Cs], [W|Ws]) :- first(W), takes(W, C), more(W, Cs, Ws).

more(_, [], []).
more(W, [C|Cs], [V|Vs]) :- next(W, V), takes(V, C), more(V, Cs, Vs).
