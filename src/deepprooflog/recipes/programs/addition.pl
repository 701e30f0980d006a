% Addition of two numbers given as lists of digit pictures, the least significant digit first.
nn(lenet, [X], D, 0..9) :: digit(X, D).

add([], [], [], 0).
add([], [], [1], 1).
add([X|Xs], [Y|Ys], [Z|Zs], C) :-
    digit(X, A), digit(Y, B),
    S is A + B + C, Z is S mod 10, C1 is S // 10,
    add(Xs, Ys, Zs, C1).
