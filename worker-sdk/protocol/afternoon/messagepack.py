"""MessagePack as far as the protocol uses it. Any library will do that can refuse what R5 and R39 refuse."""

from __future__ import annotations

import struct
from typing import Any

DEEPEST_BODY, DEEPEST_VALUE = 64, 512
FIXED = {0xC0: None, 0xC2: False, 0xC3: True}
NUMBERS = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q"}
NUMBERS |= {0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}
LENGTHS = {1: ">B", 2: ">H", 4: ">I"}


class Malformed(ValueError):
    """Bytes that are no value."""


class Odd(ValueError):
    """A value that cannot be sent."""


def pack(value: object, path: str = "$") -> bytes:
    """One value as bytes."""
    match value:
        case None | bool():
            return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
        case int() if 0 <= value < 128 or -32 <= value < 0:
            return struct.pack(">b", value)
        case int() if -(1 << 63) <= value < 1 << 63:
            return b"\xd3" + struct.pack(">q", value)
        case int() if 0 <= value < 1 << 64:
            return b"\xcf" + struct.pack(">Q", value)
        case float():
            return b"\xcb" + struct.pack(">d", value)
        case str():
            text = value.encode("utf-8", "replace")
            return b"\xdb" + struct.pack(">I", len(text)) + text
        case bytes():
            return b"\xc6" + struct.pack(">I", len(value)) + value
        case list() | tuple():
            items = (pack(item, f"{path}[{index}]") for index, item in enumerate(value))
            return b"\xdd" + struct.pack(">I", len(value)) + b"".join(items)
        case dict() if all(isinstance(key, str) for key in value):
            pairs = (pack(key) + pack(item, f"{path}.{key}") for key, item in value.items())
            return b"\xdf" + struct.pack(">I", len(value)) + b"".join(pairs)
    raise Odd(f"{path}: {type(value).__name__} cannot be sent")


def unpack(data: bytes, deepest: int, lenient: bool = False) -> Any:
    """The one value that bytes are. `lenient` takes extensions and odd keys: bodies may have such (R5)."""
    reader = Reader(data, deepest, lenient)
    value = reader.value(0)
    if reader.at != len(data):
        raise Malformed("bytes after the value")
    return value


class Reader:
    def __init__(self, data: bytes, deepest: int, lenient: bool) -> None:
        self.data, self.at, self.deepest, self.lenient = data, 0, deepest, lenient

    def take(self, count: int) -> bytes:
        piece = self.data[self.at : self.at + count]
        if len(piece) < count:
            raise Malformed("the value is cut off")
        self.at += count
        return piece

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def value(self, depth: int) -> Any:
        mark = self.take(1)[0]
        if mark < 0x80 or mark >= 0xE0:
            return struct.unpack("b", bytes([mark]))[0]
        if mark in FIXED:
            return FIXED[mark]
        if mark in NUMBERS:
            return self.number(NUMBERS[mark])
        if mark <= 0x8F or mark in (0xDE, 0xDF):
            return self.map(mark & 15 if mark <= 0x8F else self.number(LENGTHS[(mark - 0xDD) * 2]), depth + 1)
        if mark <= 0x9F or mark in (0xDC, 0xDD):
            return self.list(
                mark & 15 if mark <= 0x9F else self.number(LENGTHS[(mark - 0xDB) * 2]), depth + 1
            )
        if mark <= 0xBF or mark in (0xD9, 0xDA, 0xDB):
            length = mark & 31 if mark <= 0xBF else self.number(LENGTHS[1 << (mark - 0xD9)])
            return self.text(self.take(length))
        if mark in (0xC4, 0xC5, 0xC6):
            return bytes(self.take(self.number(LENGTHS[1 << (mark - 0xC4)])))
        return self.extension(mark)

    def text(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise Malformed("a string that is not UTF-8") from None

    def list(self, length: int, depth: int) -> list[Any]:
        self.check(depth)
        return [self.value(depth) for _ in range(length)]

    def map(self, length: int, depth: int) -> dict[str, Any]:
        self.check(depth)
        entries = {}
        for _ in range(length):
            key = self.value(depth)
            if not isinstance(key, str):
                if not self.lenient:
                    raise Malformed("a key that is no string")
                key = repr(key)
            entries[key] = self.value(depth)
        return entries

    def check(self, depth: int) -> None:
        if depth > self.deepest:
            raise Malformed(f"more than {self.deepest} levels")

    def extension(self, mark: int) -> None:
        sizes = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}
        if mark == 0xC1:
            raise Malformed("a byte that MessagePack does not use")
        length = sizes[mark] if mark in sizes else self.number(LENGTHS[1 << (mark - 0xC7)])
        self.take(1 + length)
        if not self.lenient:
            raise Malformed("an extension")
