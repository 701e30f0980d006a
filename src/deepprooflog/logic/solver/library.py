"""Library predicates that are naturally clauses, as Prolog text read on first use.

Their helpers have names that begin with `$`. The stochastic step opens these clauses where a
closure given to `maplist`, `foldl` and the like leads to a random choice.
"""

from __future__ import annotations

from deepprooflog.logic.clause import Clause
from deepprooflog.syntax.terms import Functor

TEXT = r"""
append([], L, L).
append([X|Xs], L, [X|Ys]) :- append(Xs, L, Ys).

append(Ls, L) :- must_be(list, Ls), '$append'(Ls, L).
'$append'([], []).
'$append'([L|Ls], As) :- append(L, Ws, As), '$append'(Ls, Ws).

member(X, [Y|Ys]) :- '$member'(Ys, X, Y).
'$member'(_, X, X).
'$member'([Y|Ys], X, _) :- '$member'(Ys, X, Y).

reverse(Xs, Ys) :- '$reverse'(Xs, [], Ys).
'$reverse'([], Ys, Ys).
'$reverse'([X|Xs], Rs, Ys) :- '$reverse'(Xs, [X|Rs], Ys).

select(X, [Y|Ys], Zs) :- '$select'(Ys, X, Y, Zs).
'$select'(Ys, X, X, Ys).
'$select'([Y|Ys], X, Z, [Z|Zs]) :- '$select'(Ys, X, Y, Zs).

select(X, Xs, Y, Ys) :- '$select4'(Xs, X, Y, Ys).
'$select4'([X|T], X, Y, [Y|T]).
'$select4'([H|T], X, Y, [H|T2]) :- '$select4'(T, X, Y, T2).

selectchk(X, L, R) :- select(X, L, R), !.

subtract([], _, []) :- !.
subtract([X|Xs], L, R) :- memberchk(X, L), !, subtract(Xs, L, R).
subtract([X|Xs], L, [X|R]) :- subtract(Xs, L, R).

intersection([], _, []) :- !.
intersection([X|Xs], L, R) :- memberchk(X, L), !, R = [X|Rs], intersection(Xs, L, Rs).
intersection([_|Xs], L, R) :- intersection(Xs, L, R).

union([], L, L) :- !.
union([X|Xs], L, R) :- memberchk(X, L), !, union(Xs, L, R).
union([X|Xs], L, [X|R]) :- union(Xs, L, R).

subset([], _) :- !.
subset([X|Xs], L) :- memberchk(X, L), subset(Xs, L).

delete([], _, []).
delete([X|Xs], Y, R) :- X \= Y, !, R = [X|Rs], delete(Xs, Y, Rs).
delete([_|Xs], Y, R) :- delete(Xs, Y, R).

permutation(Xs, Ys) :-
    '$permutation_skeleton'(Xs, Ys), '$permutation'(Xs, Ys).
'$permutation_skeleton'(Xs, Ys) :- is_list(Xs), !, length(Xs, N), length(Ys, N).
'$permutation_skeleton'(Xs, Ys) :- is_list(Ys), !, length(Ys, N), length(Xs, N).
'$permutation_skeleton'(Xs, Ys) :- length(Xs, N), length(Ys, N).
'$permutation'([], []).
'$permutation'(Xs, [Y|Ys]) :- select(Y, Xs, Zs), '$permutation'(Zs, Ys).

last([X|Xs], L) :- '$last'(Xs, X, L).
'$last'([], L, L).
'$last'([X|Xs], _, L) :- '$last'(Xs, X, L).

exclude(P, Xs, Ys) :- '$exclude'(Xs, P, Ys).
'$exclude'([], _, []).
'$exclude'([X|Xs], P, Ys) :- ( call(P, X) -> Ys = Zs ; Ys = [X|Zs] ), '$exclude'(Xs, P, Zs).

include(P, Xs, Ys) :- '$include'(Xs, P, Ys).
'$include'([], _, []).
'$include'([X|Xs], P, Ys) :- ( call(P, X) -> Ys = [X|Zs] ; Ys = Zs ), '$include'(Xs, P, Zs).

partition(P, Xs, In, Out) :- '$partition'(Xs, P, In, Out).
'$partition'([], _, [], []).
'$partition'([X|Xs], P, In, Out) :-
    ( call(P, X) -> In = [X|In1], Out = Out1 ; In = In1, Out = [X|Out1] ),
    '$partition'(Xs, P, In1, Out1).

predsort(P, L, Sorted) :-
    must_be(list, L), length(L, N), '$predsort'(P, N, L, _, Sorted0), !, Sorted = Sorted0.
'$predsort'(P, 2, [X1,X2|L], L, R) :- !, call(P, Delta, X1, X2), '$sort2'(Delta, X1, X2, R).
'$predsort'(_, 1, [X|L], L, [X]) :- !.
'$predsort'(_, 0, L, L, []) :- !.
'$predsort'(P, N, L1, L3, R) :-
    N1 is N // 2, N2 is N - N1,
    '$predsort'(P, N1, L1, L2, R1), '$predsort'(P, N2, L2, L3, R2), '$predmerge'(P, R1, R2, R).
'$sort2'(<, X1, X2, [X1,X2]).
'$sort2'(=, X1, _, [X1]).
'$sort2'(>, X1, X2, [X2,X1]).
'$predmerge'(_, [], R, R) :- !.
'$predmerge'(_, R, [], R) :- !.
'$predmerge'(P, [H1|T1], [H2|T2], Result) :-
    call(P, Delta, H1, H2), !, '$predmerge'(Delta, P, H1, H2, T1, T2, Result).
'$predmerge'(<, P, H1, H2, T1, T2, [H1|R]) :- '$predmerge'(P, T1, [H2|T2], R).
'$predmerge'(=, P, H1, _, T1, T2, [H1|R]) :- '$predmerge'(P, T1, T2, R).
'$predmerge'(>, P, H1, H2, T1, T2, [H2|R]) :- '$predmerge'(P, [H1|T1], T2, R).

pairs_keys_values([], [], []).
pairs_keys_values([K-V|Ps], [K|Ks], [V|Vs]) :- pairs_keys_values(Ps, Ks, Vs).
pairs_keys([], []).
pairs_keys([K-_|Ps], [K|Ks]) :- pairs_keys(Ps, Ks).
pairs_values([], []).
pairs_values([_-V|Ps], [V|Vs]) :- pairs_values(Ps, Vs).

maplist(G, As) :- '$maplist'(As, G).
'$maplist'([], _).
'$maplist'([A|As], G) :- call(G, A), '$maplist'(As, G).
maplist(G, As, Bs) :- '$maplist'(As, Bs, G).
'$maplist'([], [], _).
'$maplist'([A|As], [B|Bs], G) :- call(G, A, B), '$maplist'(As, Bs, G).
maplist(G, As, Bs, Cs) :- '$maplist'(As, Bs, Cs, G).
'$maplist'([], [], [], _).
'$maplist'([A|As], [B|Bs], [C|Cs], G) :- call(G, A, B, C), '$maplist'(As, Bs, Cs, G).
maplist(G, As, Bs, Cs, Ds) :- '$maplist'(As, Bs, Cs, Ds, G).
'$maplist'([], [], [], [], _).
'$maplist'([A|As], [B|Bs], [C|Cs], [D|Ds], G) :-
    call(G, A, B, C, D), '$maplist'(As, Bs, Cs, Ds, G).
maplist(G, As, Bs, Cs, Ds, Es) :- '$maplist'(As, Bs, Cs, Ds, Es, G).
'$maplist'([], [], [], [], [], _).
'$maplist'([A|As], [B|Bs], [C|Cs], [D|Ds], [E|Es], G) :-
    call(G, A, B, C, D, E), '$maplist'(As, Bs, Cs, Ds, Es, G).
maplist(G, As, Bs, Cs, Ds, Es, Fs) :- '$maplist'(As, Bs, Cs, Ds, Es, Fs, G).
'$maplist'([], [], [], [], [], [], _).
'$maplist'([A|As], [B|Bs], [C|Cs], [D|Ds], [E|Es], [F|Fs], G) :-
    call(G, A, B, C, D, E, F), '$maplist'(As, Bs, Cs, Ds, Es, Fs, G).

foldl(G, As, V0, V) :- '$foldl'(As, G, V0, V).
'$foldl'([], _, V, V).
'$foldl'([A|As], G, V0, V) :- call(G, A, V0, V1), '$foldl'(As, G, V1, V).
foldl(G, As, Bs, V0, V) :- '$foldl'(As, Bs, G, V0, V).
'$foldl'([], [], _, V, V).
'$foldl'([A|As], [B|Bs], G, V0, V) :- call(G, A, B, V0, V1), '$foldl'(As, Bs, G, V1, V).
foldl(G, As, Bs, Cs, V0, V) :- '$foldl'(As, Bs, Cs, G, V0, V).
'$foldl'([], [], [], _, V, V).
'$foldl'([A|As], [B|Bs], [C|Cs], G, V0, V) :-
    call(G, A, B, C, V0, V1), '$foldl'(As, Bs, Cs, G, V1, V).

phrase(G, L) :- phrase(G, L, []).
phrase(G, L, R) :- '$phrase'(G, L, R, B), call(B).

'>>'(Ps, B) :- '$lambda'(Ps, B, [], G), call(G).
'/'(Vs, B) :- '$shared'(Vs, B, [], G), call(G).
'>>'(Ps, B, T) :- '$lambda'(Ps, B, [T], G), call(G).
'/'(Vs, B, T) :- '$shared'(Vs, B, [T], G), call(G).
'>>'(Ps, B, T, U) :- '$lambda'(Ps, B, [T,U], G), call(G).
'/'(Vs, B, T, U) :- '$shared'(Vs, B, [T,U], G), call(G).
'>>'(Ps, B, T, U, V) :- '$lambda'(Ps, B, [T,U,V], G), call(G).
'/'(Vs, B, T, U, V) :- '$shared'(Vs, B, [T,U,V], G), call(G).
'>>'(Ps, B, T, U, V, W) :- '$lambda'(Ps, B, [T,U,V,W], G), call(G).
'/'(Vs, B, T, U, V, W) :- '$shared'(Vs, B, [T,U,V,W], G), call(G).
'>>'(Ps, B, T, U, V, W, X) :- '$lambda'(Ps, B, [T,U,V,W,X], G), call(G).
'/'(Vs, B, T, U, V, W, X) :- '$shared'(Vs, B, [T,U,V,W,X], G), call(G).
'>>'(Ps, B, T, U, V, W, X, Y) :- '$lambda'(Ps, B, [T,U,V,W,X,Y], G), call(G).
'/'(Vs, B, T, U, V, W, X, Y) :- '$shared'(Vs, B, [T,U,V,W,X,Y], G), call(G).
'>>'(Ps, B, T, U, V, W, X, Y, Z) :- '$lambda'(Ps, B, [T,U,V,W,X,Y,Z], G), call(G).
'/'(Vs, B, T, U, V, W, X, Y, Z) :- '$shared'(Vs, B, [T,U,V,W,X,Y,Z], G), call(G).

type_error(Type, Culprit) :- throw(error(type_error(Type, Culprit), _)).
domain_error(Domain, Culprit) :- throw(error(domain_error(Domain, Culprit), _)).
existence_error(Kind, Culprit) :- throw(error(existence_error(Kind, Culprit), _)).
permission_error(Action, Kind, Culprit) :-
    throw(error(permission_error(Action, Kind, Culprit), _)).
instantiation_error(_) :- throw(error(instantiation_error, _)).
representation_error(What) :- throw(error(representation_error(What), _)).
resource_error(What) :- throw(error(resource_error(What), _)).

flatten(List, Flat) :- '$flatten'(List, [], Flat0), !, Flat = Flat0.
'$flatten'(X, Tl, [X|Tl]) :- var(X), !.
'$flatten'([], Tl, Tl) :- !.
'$flatten'([X|Xs], Tl, L) :- !, '$flatten'(X, L1, L), '$flatten'(Xs, Tl, L1).
'$flatten'(X, Tl, [X|Tl]).

list_to_ord_set(L, S) :- sort(L, S).
"""


_by_functor: dict[Functor, list[Clause]] | None = None


def _read() -> dict[Functor, list[Clause]]:
    # Loading a program asks for the names of builtins, so the reader is met here, not on import.
    from deepprooflog.logic.load import make_clause
    from deepprooflog.syntax.reader import Fact, read_program
    from deepprooflog.syntax.terms import Struct

    clauses: dict[Functor, list[Clause]] = {}
    for item in read_program(TEXT, "<library>"):
        term = Struct(item.functor, item.args, True) if isinstance(item, Fact) else item.term
        clause = make_clause(term, None, {} if isinstance(item, Fact) else item.variables)
        clauses.setdefault(clause.functor, []).append(clause)
    return clauses


def _library() -> dict[Functor, list[Clause]]:
    global _by_functor
    if _by_functor is None:
        _by_functor = _read()
    return _by_functor


def library_clauses(functor: Functor) -> list[Clause] | None:
    """The clauses of a library predicate, shared by all programs; None when there are none.

    >>> len(library_clauses(Functor("append", 3)))
    2
    """
    return _library().get(functor)


def library_functors() -> list[Functor]:
    """The predicates the library defines by clauses, helpers included."""
    return list(_library())
