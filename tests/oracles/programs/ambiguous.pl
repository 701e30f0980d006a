% Catalan(n−1) parses of aⁿ, each (2/5)ⁿ⁻¹ (3/5)ⁿ: 1, 1, 2, 5 parses for n = 1 … 4.
%! infinite
%? s([a], []) = 3/5
%? s([a,a], []) = 18/125
%? s([a,a,a], []) = 216/3125
%? s([a,a,a,a], []) = 648/15625
2/5 :: s --> s, s.
3/5 :: s --> [a].
