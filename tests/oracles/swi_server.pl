% Reads program(Text). and query(Text, Limit, Inferences). from standard input and replies on standard output:
% "answer [Value, ...]" for each answer in order, then one line "done", "more" (the limit was
% reached) or "error Formal". Each program lives in a module of its own, so that no case sees
% another's clauses.

:- use_module(library(lists)).
:- use_module(library(apply)).
:- use_module(library(aggregate)).
:- use_module(library(gensym)).
:- dynamic current/1.

serve :-
    set_stream(user_input, encoding(utf8)),
    set_stream(user_output, encoding(utf8)),
    % A cyclic term raises an error here and is undefined in ISO: the caller discards such cases.
    set_prolog_flag(occurs_check, error),
    set_prolog_flag(double_quotes, string),
    repeat,
    read_term(user_input, Request, []),
    (   Request == end_of_file
    ->  !
    ;   catch(reply(Request, Last), Ball, caught(Ball, Last)),
        finish(Last),
        flush_output,
        fail
    ).

caught(error(Formal, _), error(Formal)) :- !.
caught(Ball, error(ball(Ball))).

finish(error(Formal)) :- !, show(error, Formal).
finish(Last) :- writeln(Last).

reply(program(Text), done) :-
    gensym(case, Module),
    retractall(current(_)),
    assertz(current(Module)),
    setup_call_cleanup(open_string(Text, In), load(In, Module), close(In)).
reply(query(Text, Limit, Inferences), Last) :-
    current(Module),
    term_string(Goal, Text, [variable_names(Names)]),
    named(Names, Values),
    % Counted in inferences, not seconds, so that the same cases are left out on every machine.
    (   call_with_inference_limit(answer(Module:Goal, Values, Limit), Inferences, Result)
    ->  (   Result == inference_limit_exceeded
        ->  Last = error(inference_limit_exceeded)
        ;   Last = more
        )
    ;   Last = done
    ).

named([], []).
named([Name = _ | Names], Values) :-
    sub_atom(Name, 0, 1, _, '_'),
    !,
    named(Names, Values).
named([_ = Value | Names], [Value | Values]) :-
    named(Names, Values).

% Succeeds at the limit; fails when the answers run out.
answer(Goal, Values, Limit) :-
    State = count(0),
    call(Goal),
    show(answer, Values),
    arg(1, State, Before),
    Count is Before + 1,
    nb_setarg(1, State, Count),
    Count >= Limit,
    !.

show(Kind, Term) :-
    write(Kind),
    write(' '),
    write_term(Term, [quoted(true), numbervars(false), max_depth(0)]),
    nl.

load(In, Module) :-
    repeat,
    read_term(In, Clause, []),
    (   Clause == end_of_file
    ->  !
    ;   (   Clause = (_ --> _)
        ->  dcg_translate_rule(Clause, Plain)
        ;   Plain = Clause
        ),
        assertz(Module:Plain),
        fail
    ).
