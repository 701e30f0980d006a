"""Calls of builtins as text: each argument drawn to fit its place, at most one at random.

A signature names the kind of each argument:

    t text     n integer   e expression   l list      p list of pairs   g goal
    c closure  o variable  a anything     s template  k list of characters or codes

Capitals are kinds of one predicate or a few, and never drawn at random.
"""

from __future__ import annotations

import random

from deepprooflog.syntax.terms import Functor, Struct
from deepprooflog.syntax.writer import write_term

_KINDS = {
    "t": "abc a '12' '' \"str\" \"12\" \"\" hello_World 12 2.5 'A b'",
    "n": "0 1 2 3 5 -1 97 N",
    "e": "0 1 7 -3 2.5 X+1 1+2 3*4-1 7//2 (-7)mod(3) 2**3 abs(-2) max(1,2.0) 100000000000000000000",
    "l": "[] [a,b,c] [1,2,3] [3,1,2,1] [X,Y] [b,a,c,a] [f(a),g(X),1]",
    "p": "[] [a-1,b-2,a-0] [x-Y] [2-a,1-b]",
    "g": "true fail X=a (X=a;X=b) member(X,[a,b]) X==Y !",
    "c": "=(a) atom integer ==(X) [A]>>(A=a) \\==(b)",
    "o": "X Y Z _",
    "a": "X Y a [] 1 2.5 f(a) f(X,b) g(X,X) [a] \"str\" X-Y",
    "s": "'~w' \"~w\" '~a~t~8|x' '~q~n' '~d' '~e' '~s' '~t~w~6|' plain '~i' '~c' '~D' '~8r' '~`-t'",
    "k": "['1','2'] [0'1,0'2] [a,b] [0'a] [] \"12\" ['-','1'] [X|Y] ['0',x,f]",
}  # fmt: skip
KINDS = {kind: tuple(text.split(" ")) for kind, text in _KINDS.items()}
KINDS["t"] = (*(t for t in KINDS["t"] if "'A" not in t and "b'" not in t), "'A b'")
# Anything may stand where something fits: what does not is then the only mistake.
_WILD = r"""
X Y a [] abc '12' {} + 0 1 -1 2.5 -0.0 "str" f(a) f(X,b) [a,b] [X|Y] [a|b] [a-1] 1+2 a-1 foo/2
(a,b)
"""
WILD = tuple(_WILD.split())

_SIGNATURES = r"""
is/2 ae  =:=/2 ee  =\=/2 ee  </2 ee  =</2 ee  >/2 ee  >=/2 ee  between/3 nnn  succ/2 nn
plus/3 nnn  divmod/4 nnoo  =/2 aa  \=/2 aa  ==/2 aa  \==/2 aa  =@=/2 aa  \=@=/2 aa  @</2 ll
@>/2 ll  @=</2 ll  @>=/2 ll  compare/3 oll  unify_with_occurs_check/2 aa  subsumes_term/2 aa
functor/3 aan  arg/3 naa  =../2 al  copy_term/2 aa  term_variables/2 al  numbervars/3 aIO
numbervars/1 a  var/1 a  nonvar/1 a  atom/1 a  number/1 a  integer/1 a  float/1 a  atomic/1 a
compound/1 a  callable/1 a  is_list/1 l  string/1 t  ground/1 a  must_be/2 aa  is_of_type/2 aa
atom_length/2 tn  atom_concat/3 ttt  sub_atom/5 tnnnt  atom_chars/2 tk  atom_codes/2 tk
char_code/2 on  atom_number/2 to  number_chars/2 ok  number_codes/2 ok  number_string/2 ot
upcase_atom/2 to  downcase_atom/2 to  atomic_list_concat/2 lo  atomic_list_concat/3 lto
term_to_atom/2 to  string_length/2 tn  string_concat/3 ttt  sub_string/5 tnnnt
string_chars/2 to  string_codes/2 to  string_to_atom/2 to  atom_string/2 ot  string_upper/2 to
string_lower/2 to  split_string/4 ttto  length/2 ln  memberchk/2 al  member/2 al  append/3 lll
append/2 lo  reverse/2 ll  nth0/3 nla  nth1/3 nla  last/2 la  select/3 alo  selectchk/3 alo
select/4 alao  subset/2 ll  subtract/3 llo  intersection/3 llo  union/3 llo  delete/3 lao
permutation/2 lo  flatten/2 lo  numlist/3 nno  sum_list/2 lo  sumlist/2 lo  max_list/2 lo
min_list/2 lo  max_member/2 ol  min_member/2 ol  pairs_keys_values/3 poo  pairs_keys/2 po
pairs_values/2 po  sort/2 lo  sort/4 JQPo  msort/2 lo  keysort/2 po  list_to_set/2 lo
list_to_ord_set/2 lo  predsort/3 Clo  maplist/2 cl  maplist/3 Dll  foldl/4 Elno  include/3 clo
exclude/3 clo  partition/4 cloo  findall/3 ago  findall/4 agol  bagof/3 ago  setof/3 ago
aggregate_all/3 AgO  forall/2 gg  call/1 g  call/2 ca  call/3 Daa  once/1 g  ignore/1 g
not/1 g  \+/1 g  ,/2 gg  ;/2 gg  ->/2 gg  *->/2 gg  catch/3 gag  throw/1 a  phrase/2 Kl
phrase/3 Klo  format/3 FsL  type_error/2 aa  domain_error/2 aa  existence_error/2 aa
instantiation_error/1 a  representation_error/1 a  permission_error/3 aaa  resource_error/1 a
true/0 -  fail/0 -  false/0 -
"""
KINDS |= {
    "A": ("count", "bag(X)", "set(X)", "max(X)", "min(X)", "max(X,Y)", "sum(X)"),
    "C": ("compare",),
    "D": ("=", "[A,B]>>(B=f(A))", "\\=", "copy_term", "@<"),
    "E": ("plus", "[A,B,D]>>(D is A+B)"),
    "F": ("atom(Z)", "string(Z)", "codes(Z)", "chars(Z)", "codes(Z,T)"),
    "I": ("0", "3", "100"),
    "J": ("0", "1", "2", "3", "-1", "N"),
    "K": ("[a]", "[a],[b]", "([a];[b])", "{X=a}", "[]", "!", "\\+[a]", "[X]", "call(=)"),
    "L": ("[a]", "[1]", "[a,b]", '["x"]', "[2.5]", "[f(a)]", "[]", "abc", "[[0'a]]", "[1+2]"),
    "O": ("M",),
    "P": ("[a-1,b-2,a-0]", "[2-a,1-b]", "[f(X,1),f(a,0)]"),
    "Q": ("@<", "@>", "@=<", "@>="),
}
KINDS["K"] = tuple(f"({body})" for body in KINDS["K"])


def _signatures() -> dict[Functor, str]:
    words = _SIGNATURES.split()
    found = {}
    for spec, kinds in zip(words[::2], words[1::2], strict=True):
        name, _, arity = spec.rpartition("/")
        found[Functor(name, int(arity))] = kinds.strip("-")
    return found


SIGNATURES = _signatures()


def call_text(functor: Functor, args: list[str]) -> str:
    """The call as text, under any operators."""
    name = write_term(Struct(Functor(functor.name, 1), (0,)), ignore_ops=True)[: -len("(0)")]
    return f"{name}({', '.join(args)})" if args else name


def fitting_call(dice: random.Random) -> tuple[Functor, str]:
    """A call whose arguments fit, but for one at most."""
    functor = dice.choice(list(SIGNATURES))
    kinds = SIGNATURES[functor]
    args = [dice.choice(KINDS[kind]) for kind in kinds]
    # An unbound number is no other argument's.
    args = [f"N{place}" if arg == "N" else arg for place, arg in enumerate(args)]
    # A wrong goal or closure is another program, not another argument.
    places = [i for i, kind in enumerate(kinds) if kind not in "gcACDEIJKLOQ"]
    if places and dice.random() < 0.4:
        args[dice.choice(places)] = dice.choice(WILD)
    return functor, call_text(functor, args)


def wild_call(dice: random.Random, functors: list[Functor]) -> tuple[Functor, str]:
    """A call of any of the predicates with arguments of any kind."""
    functor = dice.choice(functors)
    pool = [*WILD, *KINDS["a"], *KINDS["k"], *KINDS["g"], *KINDS["c"]]
    return functor, call_text(functor, [dice.choice(pool) for _ in range(functor.arity)])
