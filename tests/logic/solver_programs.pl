% Programs that take the solver through its paces: recursion, cut, branches, arithmetic, structures.

nrev([], []).
nrev([H|T], R) :- nrev(T, RT), app(RT, [H], R).
app([], L, L).
app([H|T], L, [H|R]) :- app(T, L, R).

fact(0, 1) :- !.
fact(N, F) :- N > 0, M is N - 1, fact(M, G), F is N * G.

fib(0, 0).
fib(1, 1).
fib(N, F) :- N > 1, A is N - 1, B is N - 2, fib(A, X), fib(B, Y), F is X + Y.

queens(N, Qs) :- numlist(1, N, Ns), place(Ns, Qs, []).
place([], [], _).
place(Ns, [Q|Qs], Safe) :- select(Q, Ns, Rest), safe(Q, 1, Safe), place(Rest, Qs, [Q|Safe]).
safe(_, _, []).
safe(Q, D, [P|Ps]) :- Q =\= P + D, Q =\= P - D, E is D + 1, safe(Q, E, Ps).

classify(X, small) :- X < 10, !.
classify(X, medium) :- X < 100, !.
classify(_, large).

sign(X, S) :- ( X < 0 -> S = minus ; X =:= 0 -> S = zero ; S = plus ).
nested(X, Y, R) :- ( X > 0 -> ( Y > 0 -> R = pp ; R = pm ) ; ( Y > 0 -> R = mp ; R = mm ) ), true.
bound(X, R) :- ( var(X) -> R = unbound ; atom(X) -> R = atom ; integer(X) -> R = integer ; R = other ).
either(X) :- ( X = 1 ; X = 2 ; X = 3 ).
either_then(X, Y) :- ( X = 1 ; X = 2 ), ( Y = a ; Y = b ).
first(X, L) :- ( member(X, L) -> true ; X = none ).
found(X, L, R) :- ( member(X, L), X > 1 -> R = yes(X) ; R = no ).
soft(X, L) :- ( member(X, L) *-> true ; X = none ).
absent(X, L) :- \+ member(X, L).
absent_and(X, L, Y) :- \+ member(X, L), Y = X.
not_both(X, Y) :- \+ ( X > 0, Y > 0 ).
cut_inside(X) :- ( X = 1, ! ; X = 2 ).
cut_inside(3).
cut_after(X) :- member(X, [1, 2, 3]), X > 1, !.
cut_after(9).
cut_then(X, Y) :- member(X, [1, 2]), !, member(Y, [a, b]).
cut_in_then(X, Y) :- ( X = 1 -> !, Y = one ; Y = other ).
cut_in_then(_, last).
once_of(X, L) :- once(member(X, L)).
once_then(X, Y, L) :- once(( member(X, L), X > 1 )), Y is X * X.
branch_binds(X, Y) :- ( X = f(Z), Z > 1 -> Y = big(Z) ; Y = small ).
neg_soft(L) :- a1, \+ ( member(Y, L) *-> Y > 5 ; fail ).
neg_or(X, L) :- a1, \+ ( member(X, L) ; X = z ), a1, ( X = q ; X = r ).
neg_neg(X, L) :- \+ \+ member(X, L), ( member(X, L) -> true ; X = none ).
once_or(X) :- a1, once(( X = 1 ; X = 2 )), ( X > 0 -> true ; fail ).
inner_not(X) :- a1, \+ ( a1, \+ ( X = 1, ! ) ).
cond_cut(X) :- ( member(X, [1, 2, 3]), ! -> true ; X = none ).
cond_cut(4).
if_only(X, Y) :- ( X > 1 -> Y = big ), Y \== small.
if_only(_, fallback).
deep_if(X, R) :-
    ( X < 1 -> R = a ; X < 2 -> a1, R = b ; X < 3 -> ( R = c ; R = d ) ; X < 4 -> fail ; R = e ),
    R \== d.
goal_var(G, R) :- ( G -> R = yes ; R = no ).
goal_vars(G, H) :- ( G ; H ), a1.
soft_then(X, Y) :- ( X = 1 ; X = 2 ), ( member(Y, [a, b]), X > 1 *-> a1 ; Y = none ), a1.
same_list(X, X, [X|_], X).
unbound_is(X, Y) :- X is Y + 1.
test_new(X) :- var(Y), Y = X, nonvar(Y).
rebind(X, Y) :- X = f(A, B), A = 1, B = A, Y = g(A, B, C), C = B.
big_int(X) :- X = 123456789012345678901234567890, X > 5000000000.
shared(X, Y, Z) :- ( X = 1 -> Y = W ; Y = none ), Z = g(W).
share_after(L) :- ( member(X, [1, 2]) ; X = 3 ), L = [X, _].

collatz(1, [1]) :- !.
collatz(N, [N|T]) :- ( N mod 2 =:= 0 -> M is N // 2 ; M is 3 * N + 1 ), collatz(M, T).

gcd_(A, 0, A) :- !.
gcd_(A, B, G) :- C is A mod B, gcd_(B, C, G).

hanoi(0, _, _, _, []) :- !.
hanoi(N, A, B, C, Moves) :-
    M is N - 1, hanoi(M, A, C, B, Before), hanoi(M, C, B, A, After),
    append(Before, [A-B|After], Moves).

edge(a, b). edge(b, c). edge(c, d). edge(d, b). edge(a, d).
path(X, Y, P) :- walk(X, Y, [X], P).
walk(X, X, _, [X]).
walk(X, Y, Seen, [X|P]) :- edge(X, Z), \+ member(Z, Seen), walk(Z, Y, [Z|Seen], P).

even(0).
even(N) :- N > 0, M is N - 1, odd(M).
odd(N) :- N > 0, M is N - 1, even(M).

insert(T, nil, t(nil, T, nil)).
insert(X, t(L, X, R), t(L, X, R)) :- !.
insert(X, t(L, Y, R), t(L1, Y, R)) :- X @< Y, !, insert(X, L, L1).
insert(X, t(L, Y, R), t(L, Y, R1)) :- insert(X, R, R1).
tree([], T, T).
tree([X|Xs], T0, T) :- insert(X, T0, T1), tree(Xs, T1, T).

deep(f(g(h(X), [a, X|Y]), k(1, "s")), X, Y).
repeated(f(X, X), g(X, Y), Y).
constants(1, a, 2.5, [], f(x), 100000000000000000000).
mixed(1.0, float). mixed(1, integer). mixed(a, atom). mixed([], nil). mixed([_|_], list).
mixed(f(_), f). mixed(X, variable) :- var(X).
head_unify([X|T], [X|T], p(X, T)).
anonymous(_, X, _) :- X = [_, _].
self(X) :- X = f(Y), Y = 1.
same_var(X, Y) :- X = Y, Y == X.
alias(X, Z) :- Y = X, Z = g(Y).
swap(X-Y, Y-X).
calls(G, X) :- call(G, X).
calls_body(X) :- G = ( member(X, [1, 2, 3]), X > 1 ), call(G).
calls_var(X) :- G = member(X, [1, 2]), G.
double(X, Y) :- Y is X * 2.
all_double(L, M) :- maplist(double, L, M).
bad_sum(X) :- Y = a, X is Y + 1.
bad_call(X) :- member(X, [1, 2]), no_such_predicate(X).
bad_late(X) :- member(X, [1, 2, 0]), _ is 1 / X.
guarded(X, R) :- catch(( X > 3 -> throw(too_big(X)) ; R = X ), too_big(Y), R = cut(Y)).
thrower(X) :- X > 2, throw(big(X)).
thrower(X) :- X =< 2.
rethrow(X, E) :- catch(thrower(X), big(E), true).
counting(N, N, done) :- !.
counting(I, N, R) :- I < N, J is I + 1, counting(J, N, R).
float_sum(0, S, S) :- !.
float_sum(N, A, S) :- B is A + 0.5, M is N - 1, float_sum(M, B, S).
big(N, X) :- X is 2 ** N + 1, X > 0.
int_ops(X, Y, [A, B, C, D, E]) :- A is X // Y, B is X mod Y, C is X rem Y, D is X div Y, E is -X.
compare_all(X, Y, L) :-
    findall(O, ( member(O, [<, >, =<, >=, =:=, =\=]), G =.. [O, X, Y], call(G) ), L).
long_chain(X) :-
    X = 1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1,
    a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1, a1.
a1.
greeting --> [hello], name.
name --> [world].
name --> [prolog].
digits([D|T]) --> digit(D), digits(T).
digits([D]) --> digit(D).
digit(D) --> [D], { integer(D) }.
anything([]) --> [].
anything([H|T]) --> [H], anything(T).

% Lambdas, and grammar bodies that are variables.
scaled(N, Xs, Ys) :- maplist([X, Y]>>(Y is X * N), Xs, Ys).
paired(Z, Xs, Ys) :- maplist({Z}/[X, X-Z]>>true, Xs, Ys).
total(Xs, T) :- foldl([X, A, B]>>(B is A + X), Xs, 0, T).
above(N, Xs, Ys) :- include([X]>>(X > N), Xs, Ys).
curried(X, Y, Z) :- F = [A]>>([B, C]>>(C is A * B)), call(F, X, Y, Z).
twice(G) --> G, G.
several([]) --> [].
several([G|Gs]) --> G, several(Gs).
optional(G) --> G ; [].
checked(T, X) :- must_be(T, X), format(atom(_), "~w~t~10|~a", [X, ok]).
general(X, Y) :- subsumes_term(X, Y), !.
general(_, none).
