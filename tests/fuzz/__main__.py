"""`make fuzz`: every attack for its share of the time, and what each counted.

python -m fuzz --seconds 3600 --seed 7 [NAME ...]
"""

from __future__ import annotations

import argparse
import sys
import time

from fuzz.rounds import Rounds, attacks


def main() -> int:
    """Run the attacks; 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", help="attacks to run; all when none is named")
    parser.add_argument("--seconds", type=float, default=3600.0, help="for all attacks together")
    parser.add_argument("--count", type=int, help="at most so many cases of each attack")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what cases to draw")
    asked = parser.parse_args()
    chosen = [m for m in attacks() if not asked.names or _name(m.__name__) in asked.names]
    if not chosen:
        parser.error(f"no such attack; there are {', '.join(_name(m.__name__) for m in attacks())}")
    print(f"seed {asked.seed}, {asked.seconds / len(chosen):.0f} s for each attack", flush=True)
    failed = False
    for module in chosen:
        began = time.monotonic()
        rounds = Rounds(asked.seed, count=asked.count, seconds=asked.seconds / len(chosen))
        tally = module.attack(rounds)
        failed = failed or bool(tally.broken)
        print(
            f"{_name(module.__name__):<20} {tally.tried - len(tally.broken):>9,} of "
            f"{tally.tried:>9,} held in {time.monotonic() - began:5.0f} s  {module.PROMISE}",
            flush=True,
        )
        for case in tally.broken[:20]:
            print(f"  broken by {case}", flush=True)
        if len(tally.broken) > 20:
            print(f"  and {len(tally.broken) - 20:,} more", flush=True)
    return 1 if failed else 0


def _name(module: str) -> str:
    return module.removeprefix("fuzz.fuzz_")


if __name__ == "__main__":
    sys.exit(main())
