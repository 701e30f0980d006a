% Reads goals, one a line, and prints for each its answers and how it ended, as canonical terms.
:- set_prolog_flag(double_quotes, string).

limit(12).

batch(File) :- setup_call_cleanup(open(File, read, In), each(In), close(In)).

each(In) :-
    read_term(In, Goal, [variable_names(Names)]),
    ( Goal == end_of_file -> true ; run(Goal, Names), each(In) ).

run(Goal, Names) :-
    values(Names, Values),
    limit(Limit),
    State = state(0, []),
    catch(
        ( ( call_cleanup(Goal, Det = true),
            arg(1, State, N0), N is N0 + 1, nb_setarg(1, State, N),
            arg(2, State, Found), copy_term(Values, Copy),
            ( Det == true -> D = det ; D = open ),
            duplicate_term([Copy-D|Found], Next), nb_setarg(2, State, Next),
            ( N >= Limit -> ! ; fail ), End = cut
          ; End = end
          ) ),
        Error,
        ( Error = error(Formal, _) -> End = error(Formal) ; End = ball(Error) )),
    arg(2, State, Reversed), reverse(Reversed, Solutions),
    write_term(result(Solutions, End), [quoted(true), ignore_ops(true), numbervars(false)]),
    write(' .'), nl.

values([], []).
values([_=V|Ns], [V|Vs]) :- values(Ns, Vs).
