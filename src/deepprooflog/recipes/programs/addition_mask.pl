% Which digits can still be completed to a given sum: the mask of multi-digit addition.
%
% The columns are read as the addition program reads them, from the least significant. A column is
% described by what a digit's validity depends on, and by nothing else:
%
%   SumDigit   the digit of the sum in this column
%   Carry      the carry into it, known from the columns before
%   Out        the carries out of it that the columns behind can still be completed from:
%              [0], [1] or [0, 1]
%   CurrNo     0 for the digit of the first number, 1 for that of the second
%   Prev       the first number's digit, once it is chosen (CurrNo = 1)
%
% Against the mask listing in appendix C.1 of the paper this program corrects four things.
% 1. PredSum and SumTarget occur there once each and are unbound. Here the last digit of a column is
%    checked against the column's target, which valid_digit computes.
% 2. Read as it is meant, the listing forces a carry into a column where one is only possible, and
%    loses every sequence without it. Here each carry out that can be completed is allowed.
% 3. SumDigit has to be the column's target, 10 * carry out + digit of the sum, and nothing in the
%    listing updates it. Here target/3 makes it, for each column anew.
% 4. The listing starts at the most significant digit, the addition program at the least. Here both
%    start at the least, and the carries that the columns behind need are found beforehand.

% digit_mask(+SumDigit, +Carry, +Out, +CurrNo, +Prev, -Mask): ten flags, for the digits 0 to 9.
digit_mask(SumDigit, Carry, Out, CurrNo, Prev, Mask) :-
    findall(Flag, (
        between(0, 9, D),
        ( valid_digit(SumDigit, Carry, Out, CurrNo, Prev, D) -> Flag = 1 ; Flag = 0 )
    ), Mask).

% The first number's digit is valid when some digit of the second makes up the rest.
valid_digit(SumDigit, Carry, Out, 0, _, D) :-
    target(SumDigit, Out, Target),
    Remain is Target - Carry - D,
    between(0, 9, Remain).
% The second number's digit has to make up the rest itself.
valid_digit(SumDigit, Carry, Out, 1, Prev, D) :-
    target(SumDigit, Out, Target),
    Prev + D + Carry =:= Target.

% target(+SumDigit, +Out, -Target): what the digits and the carry in may add up to.
target(SumDigit, Out, Target) :-
    member(CarryOut, Out),
    Target is 10 * CarryOut + SumDigit.

% carries(+Columns, +Sum, -Outs): for each column the carries out of it that can be completed, when
% there are this many columns and Sum lists the digits of the sum, the least significant first.
carries(Columns, Sum, Outs) :-
    length(Digits, Columns),
    append(Digits, Over, Sum),
    overflow(Over, Last),
    carries_in(Digits, Last, _, Outs).

overflow([], [0]).
overflow([1], [1]).

% carries_in(+Digits, +Last, -Into, -Outs): from the last column back to this one.
carries_in([], Last, Last, []).
carries_in([Digit|Digits], Last, Into, [Out|Outs]) :-
    carries_in(Digits, Last, Out, Outs),
    carry_in(Digit, Out, Into).

% carry_in(+SumDigit, +Out, -Into): the carries into a column that its digits can be found for.
carry_in(SumDigit, Out, Into) :-
    findall(Carry, (
        member(Carry, [0, 1]),
        \+ \+ ( target(SumDigit, Out, Target), Rest is Target - Carry, between(0, 18, Rest) )
    ), Into).
