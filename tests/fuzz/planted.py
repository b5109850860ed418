"""Decoders with an error in them, to see that it is found."""

from __future__ import annotations

import ctypes
import random
import time


class _Planted:
    def make(self, rng: random.Random) -> bytes:
        return rng.randbytes(8)


class Planted(_Planted):
    """Raises what a decoder must not raise, for one input in 256."""

    name = "planted"

    def run(self, given: bytes) -> None:
        if given[3] == 77:
            raise ValueError("not a ProtocolError")


class PlantedCrash(_Planted):
    """Ends the process."""

    name = "planted-crash"

    def run(self, given: bytes) -> None:
        if given[3] == 77:
            ctypes.string_at(0)


class PlantedHang(_Planted):
    """Does not come back."""

    name = "planted-hang"

    def run(self, given: bytes) -> None:
        while given[3] == 77:
            time.sleep(0.1)


class PlantedGreed(_Planted):
    """Takes more memory than an input is worth."""

    name = "planted-greed"

    def run(self, given: bytes) -> None:
        if given[3] == 77:
            bytearray(400 << 20)


__all__ = ["Planted", "PlantedCrash", "PlantedGreed", "PlantedHang"]
