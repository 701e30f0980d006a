% On one word the unary productions go round: a(x) = ½ + ½·½ a(x), a(y) = ½ b(y), b(y) = ½ + ½ a(y).
%? a([x], []) = 2/3
%? a([y], []) = 1/3
%? b([y], []) = 2/3
1/2 :: a --> b.
1/2 :: a --> [x].
1/2 :: b --> a.
1/2 :: b --> [y].
