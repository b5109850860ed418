"""How long to pause before trying again: longer with each failure, up to a limit. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Pauses in seconds that grow with each attempt, each moved a little by chance.

    Without the chance, clients that failed together would come back together.

    Raises:
        ValueError: A number makes no sense.
    """

    first: float
    """The pause of attempt 0."""
    longest: float
    """No pause is longer. Where it is not above `first`, each pause is exactly this long."""
    multiplier: float = 2.0
    jitter: float = 0.2
    """By which part of itself a pause may be longer or shorter."""

    def __post_init__(self) -> None:
        if not (0 <= self.first < math.inf and 0 <= self.longest < math.inf):
            raise ValueError(
                f"a pause is finite and not negative, not {self.first}, {self.longest}"
            )
        if not 1 < self.multiplier < math.inf:
            raise ValueError(f"a pause grows by a factor above 1, not {self.multiplier}")
        if not 0 <= self.jitter < 1:
            raise ValueError(f"a pause varies by a part of itself below 1, not {self.jitter}")

    def delay(self, attempt: int, *, jitter: float) -> float:
        """The pause after a failure.

        Args:
            attempt: How many failures there were before it: 0 for the first.
            jitter: A random number from -1 to 1; 0 is the pause itself.
        """
        if not 0 < self.first < self.longest:
            return min(self.first, self.longest)
        grown = self.longest
        # Asked first, because a power of a large attempt does not fit a float.
        if attempt < math.log(self.longest / self.first, self.multiplier):
            grown = self.first * self.multiplier**attempt
        return min(grown * (1 + self.jitter * jitter), self.longest)
