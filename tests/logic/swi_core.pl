% Prints the clauses of SWI-Prolog's own unit tests as canonical terms, one a line:
%     clause(File, Unit, Clause).        Unit is [] outside of a unit
% Directives are left out; operators that a file declares are in force while it is read.

:- dynamic unit/1.

dump(Files) :- forall(member(File, Files), dump_file(File)).

dump_file(File) :-
    file_base_name(File, Base),
    file_name_extension(Name, _, Base),
    retractall(unit(_)), assertz(unit([])),
    setup_call_cleanup(open(File, read, In, [encoding(utf8)]), clauses(In, Name), close(In)).

clauses(In, Name) :-
    repeat,
    catch(read_term(In, Term, []), _, Term = unreadable),
    (   Term == end_of_file
    ->  !
    ;   once(clause_read(Term, Name)),
        fail
    ).

clause_read((:- begin_tests(Unit)), _) :- retractall(unit(_)), assertz(unit(Unit)).
clause_read((:- begin_tests(Unit, _)), _) :- retractall(unit(_)), assertz(unit(Unit)).
clause_read((:- end_tests(_)), _) :- retractall(unit(_)), assertz(unit([])).
clause_read((:- op(P, T, N)), _) :- catch(op(P, T, N), _, true).
clause_read((:- _), _).
clause_read(unreadable, _).
clause_read(Term, Name) :-
    ( Term = (_ --> _) -> dcg_translate_rule(Term, Clause) ; Clause = Term ),
    unit(Unit),
    write_term(clause(Name, Unit, Clause), [quoted(true), ignore_ops(true), cycles(true)]),
    write(' .'), nl.
