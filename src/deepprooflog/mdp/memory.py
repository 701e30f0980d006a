"""The goals an episode has visited, kept whole: what the memory excludes is exact.

Goals are looked up by a 64-bit hash and then compared entry by entry, so that two goals that share
a hash are still told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn.functional import pad

from deepprooflog.relational.goals import PAD, Goals, hash_rows


@dataclass(frozen=True)
class Memory:
    """The goals visited by each episode, in order of depth; PAD where there is none yet."""

    hash: Int[Tensor, "episodes depths"]
    atoms: Int[Tensor, "episodes depths atoms width"]
    answer: Int[Tensor, "episodes depths answers"]

    def select(self, index: Int[Tensor, " chosen"]) -> Memory:
        """The memory of some of the episodes."""
        return Memory(self.hash[index], self.atoms[index], self.answer[index])

    @staticmethod
    def cat(parts: Sequence[Memory]) -> Memory:
        """Memories with room for as many goals one after another, padded to the widest."""
        atoms = max(p.atoms.shape[2] for p in parts)
        answers = max(p.answer.shape[2] for p in parts)
        return Memory(
            torch.cat([p.hash for p in parts]),
            torch.cat([_widened(p.atoms, atoms) for p in parts]),
            torch.cat([_lengthened(p.answer, answers) for p in parts]),
        )


def blank(goals: Goals, depths: int) -> Memory:
    """The memory of episodes that have visited nothing, with room for so many goals."""
    count, atoms, width = goals.atoms.shape
    return Memory(
        hash=torch.zeros((count, depths), dtype=torch.int64, device=goals.atoms.device),
        atoms=goals.atoms.new_full((count, depths, atoms, width), PAD),
        answer=goals.answer.new_full((count, depths, goals.answer.shape[1]), PAD),
    )


def remember(
    memory: Memory,
    goals: Goals,
    depth: Int[Tensor, " episodes"],
    which: Bool[Tensor, " episodes"],
) -> Memory:
    """The memory with these episodes' goals entered at their depths."""
    atoms = _widened(memory.atoms, goals.atoms.shape[1])
    found = _widened(goals.atoms, atoms.shape[2])
    answer = _lengthened(memory.answer, goals.answer.shape[1])
    own = _lengthened(goals.answer, answer.shape[2])
    place = torch.arange(memory.hash.shape[1], device=depth.device) == depth[:, None]
    place = place & which[:, None]
    return Memory(
        hash=torch.where(place, hash_of(goals)[:, None], memory.hash),
        atoms=torch.where(place[..., None, None], found[:, None], atoms),
        answer=torch.where(place[..., None], own[:, None], answer),
    )


def forget(memory: Memory, which: Bool[Tensor, " episodes"]) -> Memory:
    """The memory with these episodes' goals erased."""
    return Memory(
        hash=memory.hash.masked_fill(which[:, None], 0),
        atoms=memory.atoms.masked_fill(which[:, None, None, None], PAD),
        answer=memory.answer.masked_fill(which[:, None, None], PAD),
    )


def visited(
    memory: Memory,
    goals: Goals,
    owner: Int[Tensor, " goals"],
    depth: Int[Tensor, " episodes"],
) -> Bool[Tensor, " goals"]:
    """Which goals their episodes have visited at their depth or before."""
    met = torch.arange(memory.hash.shape[1], device=depth.device) <= depth[:, None]
    alike = (memory.hash[owner] == hash_of(goals)[:, None]) & met[owner]
    goal, place = alike.nonzero(as_tuple=True)
    own = owner[goal]
    width = max(memory.atoms.shape[2], goals.atoms.shape[1])
    then = _widened(memory.atoms, width)[own, place]
    now = _widened(goals.atoms, width)[goal]
    same = (then == now).flatten(1).all(1) & (memory.answer[own, place] == goals.answer[goal]).all(
        1
    )
    result = torch.zeros(len(owner), dtype=torch.bool, device=owner.device)
    return result.index_put((goal,), same, accumulate=True)


def hash_of(goals: Goals) -> Int[Tensor, " goals"]:
    """A 64-bit hash of atoms and answer, the same however wide the batch is padded."""
    # Odd, so that nothing is lost; without it an answer would cancel atoms that read the same.
    return hash_rows(goals.atoms.flatten(1)) ^ (hash_rows(goals.answer) * 3)


def _widened(
    atoms: Int[Tensor, "*lead atoms width"], width: int
) -> Int[Tensor, "*lead wide width"]:
    """Room for more atoms in each goal."""
    return pad(atoms, (0, 0, 0, max(0, width - atoms.shape[-2])), value=PAD)


def _lengthened(answer: Int[Tensor, "*lead answers"], count: int) -> Int[Tensor, "*lead long"]:
    """Room for more bindings in each answer."""
    return pad(answer, (0, max(0, count - answer.shape[-1])), value=PAD)
