"""Facts of binary predicates, sorted by either side beforehand: a call is a few binary searches.

What `Facts` and `Index` are together, for facts that never change. Nothing is made when they are
opened, so that all arrays may lie in a file and be read where a call needs them.

    ends      head and tail of fact 0, 1, …, by predicate, within each in the order they were given
    by head   the distinct numbers predicate · constants + head, where the facts of each begin, and
              the facts in that order; by tail likewise
    paired    the facts by head and then tail: with both bound, the tail is searched for among the
              facts of a head
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.functional import pad

from deepprooflog.relational.goals import PAD


@dataclass(frozen=True, eq=False)
class SideOrder:
    """Where the facts of each entity on one side stand in the order by that side."""

    keys: Int[Tensor, " keys"]  # predicate · constants + entity, sorted, each once
    begin: Int[Tensor, " keys_and_one"]

    def ranges(
        self, key: Int[Tensor, " calls"]
    ) -> tuple[Int[Tensor, " calls"], Int[Tensor, " calls"]]:
        """Where the facts of each key begin, and how many they are."""
        if not len(self.keys):
            return torch.zeros_like(key), torch.zeros_like(key)
        at = torch.searchsorted(self.keys, key).clamp_(max=len(self.keys) - 1)
        begin = self.begin.index_select(0, at).long()
        count = self.begin.index_select(0, at + 1) - begin
        return begin, count * (self.keys.index_select(0, at) == key)

    def to(self, device: torch.device | str) -> SideOrder:
        """The same on a device."""
        return SideOrder(self.keys.to(device), self.begin.to(device))


@dataclass(frozen=True, eq=False)
class PairFacts:
    """Facts r(a, b) of the first predicates, each once, and where those are that match a call.

    A *place* is a number in four lists of facts, one after another: as they are numbered, by head,
    by tail, paired. A call's facts are neighbours there, in the order in which they were given.
    """

    ends: Int[Tensor, "facts 2"]
    start: Int[Tensor, " predicates_and_one"]  # the first fact of each predicate
    by_head: SideOrder
    by_tail: SideOrder
    orders: Int[Tensor, "3 facts"]  # facts by head, by tail, paired
    constants: int  # those of the facts; what only rules name has higher numbers
    binary: int  # predicates that have such facts
    arity: int = 2  # columns of `arguments`
    duplicates: int = 0

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def device(self) -> torch.device:
        """Where the arrays are."""
        return self.ends.device

    def to(self, device: torch.device | str) -> PairFacts:
        """The same on a device."""
        return replace(
            self, ends=self.ends.to(device), start=self.start.to(device),
            by_head=self.by_head.to(device), by_tail=self.by_tail.to(device),
            orders=self.orders.to(device),
        )  # fmt: skip

    def among(self, predicates: int, arity: int = 2) -> PairFacts:
        """The same facts where there are so many predicates, the widest of that arity."""
        last = self.start[-1:].expand(predicates + 1 - len(self.start))
        start = torch.cat([self.start, last])
        return replace(self, start=start, arity=max(arity, self.arity))

    @cached_property
    def predicate(self) -> Int[Tensor, " facts"]:
        """The predicate of every fact, for those who need them all."""
        numbers = torch.arange(len(self.start) - 1, dtype=torch.int32, device=self.device)
        return numbers.repeat_interleave(self.start.diff(), output_size=len(self))

    @cached_property
    def arguments(self) -> Int[Tensor, "facts arity"]:
        """The arguments of every fact, for those who need them all."""
        return pad(self.ends, (0, self.arity - 2), value=PAD)

    def predicates_of(self, fact: Int[Tensor, " some"]) -> Int[Tensor, " some"]:
        """The predicates of some facts."""
        return torch.searchsorted(self.start, fact.long(), right=True) - 1

    def arguments_of(self, fact: Int[Tensor, " some"]) -> Int[Tensor, "some arity"]:
        """The arguments of some facts."""
        return pad(self.ends.index_select(0, fact), (0, self.arity - 2), value=PAD)

    def lookup(
        self, predicate: Int[Tensor, " calls"], arguments: Int[Tensor, "calls _arity"]
    ) -> tuple[Int[Tensor, " calls"], Int[Tensor, " calls"]]:
        """For each call the place where its facts begin, and how many they are."""
        if not len(self):
            none = torch.zeros_like(predicate, dtype=torch.long)
            return none, none
        # PAD, which stands where a goal is True, has no facts.
        last = len(self.start) - 2
        is_one = (predicate >= 0) & (predicate <= last)
        predicate = predicate.clamp(0, last).long()
        begin = self.start.index_select(0, predicate)
        count = (self.start.index_select(0, predicate + 1) - begin) * is_one
        head, tail = arguments[:, 0].long(), arguments[:, 1].long()
        with_head, with_tail = (head >= 0) & (count > 0), (tail >= 0) & (count > 0)
        alone = with_tail & ~with_head
        if bool(alone.any()):
            place, found = self.by_tail.ranges(self._key(predicate, tail))
            begin = torch.where(alone, place + 2 * len(self), begin)
            count = torch.where(alone, found, count)
        if bool(with_head.any()):
            place, found = self.by_head.ranges(self._key(predicate, head))
            begin = torch.where(with_head, place + len(self), begin)
            count = torch.where(with_head, found, count)
            both = (with_head & with_tail).nonzero().squeeze(1)
            if len(both):
                first = place.index_select(0, both)
                end = first + found.index_select(0, both)
                at, is_there = self._paired(first, end, tail.index_select(0, both))
                begin = begin.index_copy(0, both, at + 3 * len(self))
                count = count.index_copy(0, both, is_there.long())
        return begin, count

    def facts_at(self, place: Int[Tensor, " places"]) -> Int[Tensor, " places"]:
        """The facts that stand at some places."""
        at = place - len(self)
        listed = self.orders.view(-1).index_select(0, at.clamp(0, 3 * len(self) - 1))
        return torch.where(at < 0, place.to(listed.dtype), listed)

    def _key(
        self, predicate: Int[Tensor, " calls"], entity: Int[Tensor, " calls"]
    ) -> Int[Tensor, " calls"]:
        """What is searched for; −1, which none has, of a constant that no fact names."""
        known = (entity >= 0) & (entity < self.constants) & (predicate < self.binary)
        return torch.where(known, predicate * self.constants + entity, -1)

    def _paired(
        self, first: Int[Tensor, " calls"], last: Int[Tensor, " calls"], tail: Int[Tensor, " calls"]
    ) -> tuple[Int[Tensor, " calls"], Bool[Tensor, " calls"]]:
        """Where the tail stands among the facts of a head, and whether it does."""
        low, high = first, last
        while bool((low < high).any()):
            middle = (low + high) // 2
            is_less = (low < high) & (self._tail_at(middle) < tail)
            low, high = torch.where(is_less, middle + 1, low), torch.where(is_less, high, middle)
        return low, (low < last) & (self._tail_at(low) == tail)

    def _tail_at(self, place: Int[Tensor, " calls"]) -> Int[Tensor, " calls"]:
        fact = self.orders[2].index_select(0, place.clamp(max=len(self) - 1))
        return self.ends[:, 1].index_select(0, fact)
