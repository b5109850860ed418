"""ISO 8601 durations as Java reads them: days, hours, minutes, seconds; no years or weeks. Pure."""

from __future__ import annotations

import re

_FORM = re.compile(
    r"(?P<sign>[+-]?)P(?:(?P<days>[+-]?[0-9]+)D)?"
    r"(?P<time>T(?:(?P<hours>[+-]?[0-9]+)H)?(?:(?P<minutes>[+-]?[0-9]+)M)?"
    r"(?:(?P<seconds>[+-]?[0-9]+(?:[.,][0-9]{0,9})?)S)?)?",
    re.IGNORECASE | re.ASCII,
)
_UNITS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}


def seconds(text: str) -> float | None:
    """How long it is; None where it is not a duration."""
    match = _FORM.fullmatch(text)
    if match is None or (match["time"] or "").upper() == "T":
        return None
    parts = {unit: match[unit] for unit in _UNITS if match[unit] is not None}
    if not parts:
        return None
    total = sum(float(part.replace(",", ".")) * _UNITS[unit] for unit, part in parts.items())
    return -total if match["sign"] == "-" else total
