"""The tables beside the instructions of a code object, as CPython stores them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ufuse.frame_hook.code.kept_builtins import KEPT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ufuse.frame_hook.code.instructions import Location

__builtins__ = KEPT


def exception_table(ranges: Iterable[tuple[int, int, int, int]]) -> bytes:
    """Write protected ranges: numbers of 6 bits a byte, highest first; bit 7 begins an entry."""
    data = bytearray()
    for entry in ranges:
        first = len(data)
        for number in entry:
            for shift in range(max(number.bit_length() - 1, 0) // 6 * 6, 0, -6):
                data.append(64 | number >> shift & 63)
            data.append(number & 63)
        data[first] |= 128
    return bytes(data)


class LineTable:
    """Locations as CPython stores them: entries of at most 8 code units, each line a step from `line`."""

    __slots__ = ("data", "line")

    def __init__(self, line: int) -> None:
        self.data = bytearray()
        self.line = line

    def add(self, location: Location, size: int) -> None:
        """Append what so many code units have for a location."""
        for units in (*[8] * ((size - 1) // 8), (size - 1) % 8 + 1):
            kind, details = location_entry(location, self.line)
            self.data.append(128 | kind << 3 | units - 1)
            self.data += details
            self.line = self.line if location[0] is None else location[0]


def location_entry(location: Location, line: int) -> tuple[int, bytes]:
    """The kind of an entry and the bytes after its first, when the entry before was on `line`."""
    start, end, column, end_column = location
    if start is None:
        return 15, b""
    step = start - line
    if column is None and end_column is None and end == start:
        return 13, signed_number(step)
    if column is None or end_column is None or end is None or end != start:
        extent = 0 if end is None else end - start
        columns = [0 if place is None else place + 1 for place in (column, end_column)]
        return 14, signed_number(step) + b"".join(map(low_first, (extent, *columns)))
    if step == 0 and column < 80 and 0 <= end_column - column < 16:
        return column >> 3, bytes(((column & 7) << 4 | end_column - column,))
    if 0 <= step <= 2 and column < 128 and end_column < 128:
        return 10 + step, bytes((column, end_column))
    return 14, signed_number(step) + b"\0" + low_first(column + 1) + low_first(end_column + 1)


def low_first(number: int) -> bytes:
    """A number of a line table: 6 bits a byte, lowest first; bit 6 says that more follow."""
    data = bytearray()
    while number > 63:
        data.append(64 | number & 63)
        number >>= 6
    data.append(number)
    return bytes(data)


def signed_number(number: int) -> bytes:
    """A number that may be negative: its sign in the lowest bit."""
    return low_first(-number << 1 | 1 if number < 0 else number << 1)
