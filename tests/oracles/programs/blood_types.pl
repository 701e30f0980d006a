% Genes a 3/10, b 1/10, o 3/5. A = 0.09 + 2·0.18, B = 0.01 + 2·0.06, AB = 2·0.03, O = 0.36.
%? type(a) = 9/20
%? type(b) = 13/100
%? type(ab) = 3/50
%? type(o) = 9/25
%? type(_) = 1
3/10 :: gene(a).
1/10 :: gene(b).
3/5 :: gene(o).
type(T) :- gene(X), gene(Y), shows(X, Y, T).
shows(a, a, a).
shows(a, o, a).
shows(o, a, a).
shows(b, b, b).
shows(b, o, b).
shows(o, b, b).
shows(a, b, ab).
shows(b, a, ab).
shows(o, o, o).
