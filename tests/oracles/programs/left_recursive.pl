% n additions: (1/3)ⁿ · 2/3 for the shape, and a term is x with 3/4, y with 1/4.
%! infinite
%? e([x], []) = 1/2
%? e([x,+,y], []) = 1/24
%? e([x,+,x,+,x], []) = 1/32
1/3 :: e --> e, [+], t.
2/3 :: e --> t.
3/4 :: t --> [x].
1/4 :: t --> [y].
