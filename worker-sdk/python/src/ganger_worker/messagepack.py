"""MessagePack in pure Python: the reference of what a value may be, and the codec where msgspec is missing.

It is slower than msgspec but knows the path of what it refuses, so it words the errors of the fast codec.
"""

from __future__ import annotations

from _struct import Struct

from .typed import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

MAX_DEPTH: Final = 200


class Refused(Exception):
    """A value that cannot cross: where it lies (``$.items[3]``) and why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def encode(value: object) -> bytes:
    out = bytearray()
    try:
        _write(value, out, "$", 0)
    except RecursionError:
        raise Refused("$", "nested too deep (or a cycle)") from None
    return bytes(out)


def decode(data: bytes | bytearray | memoryview, *, lax: bool = False) -> object:
    """``lax`` lets any key and extension pass, as in those parts of a body that a reader ignores."""
    reader = _Reader(bytes(data), lax)
    try:
        value = reader.read("$", 0)
    except RecursionError:
        raise Refused("$", "nested too deep") from None
    if reader.position != len(reader.data):
        raise Refused("$", f"{len(reader.data) - reader.position} bytes after the value")
    return value


# --- writing


def _write(value: object, out: bytearray, path: str, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise Refused(path, f"nested deeper than {MAX_DEPTH} levels (or a cycle)")
    writer = _WRITERS.get(type(value))
    if writer is None:
        from .plain import plain  # imported with the first value that needs it

        value = plain(value, path)
        writer = _WRITERS.get(type(value), _write_rare)
        depth += 1
    writer(value, out, path, depth)


def _write_rare(value: object, out: bytearray, path: str, depth: int) -> None:
    from . import timestamps

    if timestamps.is_one(value):
        out += timestamps.write(value, path)
    else:
        _write(value, out, path, depth)


def type_name(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _write_nil(_value: object, out: bytearray, _path: str, _depth: int) -> None:
    out.append(0xC0)


def _write_bool(value: bool, out: bytearray, _path: str, _depth: int) -> None:
    out.append(0xC3 if value else 0xC2)


def _write_int(value: int, out: bytearray, path: str, _depth: int) -> None:
    if 0 <= value < 0x80:
        out.append(value)
    elif -0x20 <= value < 0:
        out.append(value & 0xFF)
    elif value > 0:
        for limit, mark, form in _UNSIGNED:
            if value < limit:
                out.append(mark)
                out += form.pack(value)
                return
        raise Refused(path, "integer beyond 64 bits")
    else:
        for limit, mark, form in _SIGNED:
            if value >= limit:
                out.append(mark)
                out += form.pack(value)
                return
        raise Refused(path, "integer beyond 64 bits")


_B, _H, _I, _Q = (Struct(form) for form in (">B", ">H", ">I", ">Q"))
_b, _h, _i, _q = (Struct(form) for form in (">b", ">h", ">i", ">q"))
_f, _d = Struct(">f"), Struct(">d")
_UNSIGNED: Final = ((1 << 8, 0xCC, _B), (1 << 16, 0xCD, _H), (1 << 32, 0xCE, _I), (1 << 64, 0xCF, _Q))
_SIGNED: Final = (
    (-(1 << 7), 0xD0, _b),
    (-(1 << 15), 0xD1, _h),
    (-(1 << 31), 0xD2, _i),
    (-(1 << 63), 0xD3, _q),
)


def _write_float(value: float, out: bytearray, _path: str, _depth: int) -> None:
    out.append(0xCB)
    out += _d.pack(value)


def _write_str(value: str, out: bytearray, path: str, _depth: int) -> None:
    try:
        data = value.encode()
    except UnicodeEncodeError:
        raise Refused(path, "a string with lone surrogates is not Unicode text") from None
    if len(data) < 32:
        out.append(0xA0 | len(data))
    else:
        _write_length(len(data), out, (0xD9, 0xDA, 0xDB), path)
    out += data


def _write_bytes(value: bytes | bytearray | memoryview, out: bytearray, path: str, _depth: int) -> None:
    _write_length(memoryview(value).nbytes, out, (0xC4, 0xC5, 0xC6), path)
    out += value if isinstance(value, (bytes, bytearray)) else value.tobytes()


def _write_list(value: list[object] | tuple[object, ...], out: bytearray, path: str, depth: int) -> None:
    if len(value) < 16:
        out.append(0x90 | len(value))
    else:
        _write_length(len(value), out, (None, 0xDC, 0xDD), path)
    for index, item in enumerate(value):
        _write(item, out, f"{path}[{index}]", depth + 1)


def _write_map(value: dict[object, object], out: bytearray, path: str, depth: int) -> None:
    if len(value) < 16:
        out.append(0x80 | len(value))
    else:
        _write_length(len(value), out, (None, 0xDE, 0xDF), path)
    for key, item in value.items():
        if not isinstance(key, str):
            raise Refused(path, f"map key {key!r:.80} is of type '{type_name(type(key))}', not a string")
        text = key if type(key) is str else _key_text(key)
        _write_str(text, out, path, depth)
        _write(item, out, f"{path}.{text}", depth + 1)


def _key_text(key: str) -> str:
    from .plain import key_text

    return key_text(key)


def _write_length(length: int, out: bytearray, marks: tuple[int | None, int, int], path: str) -> None:
    small, medium, large = marks
    if small is not None and length < 1 << 8:
        out += bytes((small, length))
    elif length < 1 << 16:
        out.append(medium)
        out += _H.pack(length)
    elif length < 1 << 32:
        out.append(large)
        out += _I.pack(length)
    else:
        raise Refused(path, f"{length} elements or bytes are more than MessagePack can hold")


_WRITERS: Final[dict[type, Callable[[Any, bytearray, str, int], None]]] = {
    type(None): _write_nil,
    bool: _write_bool,
    int: _write_int,
    float: _write_float,
    str: _write_str,
    bytes: _write_bytes,
    bytearray: _write_bytes,
    memoryview: _write_bytes,
    list: _write_list,
    tuple: _write_list,
    dict: _write_map,
}


# --- reading


class _Reader:
    def __init__(self, data: bytes, lax: bool) -> None:
        self.data = data
        self.position = 0
        self.lax = lax

    def read(self, path: str, depth: int) -> object:
        mark = self.take(1, path)[0]
        if mark < 0x80:
            return mark
        if mark >= 0xE0:
            return mark - 0x100
        if mark < 0x90:
            return self.read_map(mark & 0x0F, path, depth)
        if mark < 0xA0:
            return self.read_list(mark & 0x0F, path, depth)
        if mark < 0xC0:
            return self.read_str(mark & 0x1F, path)
        return self.read_marked(mark, path, depth)

    def read_marked(self, mark: int, path: str, depth: int) -> object:
        if mark in _CONSTANTS:
            return _CONSTANTS[mark]
        if mark in _NUMBERS:
            return self.number(_NUMBERS[mark], path)
        if mark in _LENGTHS:
            kind, form = _LENGTHS[mark]
            length = cast("int", self.number(form, path))
            return (
                getattr(self, kind)(length, path, depth)
                if kind[5] in "ml"
                else getattr(self, kind)(length, path)
            )
        if 0xD4 <= mark <= 0xD8:
            return self.read_ext(1 << (mark - 0xD4), path)
        raise Refused(path, f"byte 0x{mark:02x} is no MessagePack")

    def take(self, count: int, path: str) -> bytes:
        end = self.position + count
        if end > len(self.data):
            raise Refused(path, "the bytes end within a value")
        taken = self.data[self.position : end]
        self.position = end
        return taken

    def number(self, form: Struct, path: str) -> int | float:
        return cast("int | float", form.unpack(self.take(form.size, path))[0])

    def read_str(self, length: int, path: str) -> str:
        try:
            return self.take(length, path).decode()
        except UnicodeDecodeError:
            raise Refused(path, "a string that is not UTF-8") from None

    def read_bin(self, length: int, path: str) -> bytes:
        return self.take(length, path)

    def read_list(self, length: int, path: str, depth: int) -> list[object]:
        self.check(length, path, depth)
        return [self.read(f"{path}[{index}]", depth + 1) for index in range(length)]

    def read_map(self, length: int, path: str, depth: int) -> dict[str, object]:
        self.check(length * 2, path, depth)
        found: dict[str, object] = {}
        for _ in range(length):
            key = self.read(path, depth + 1)
            if not isinstance(key, str):
                if not self.lax:
                    raise Refused(
                        path, f"map key {key!r:.80} is of type '{type_name(type(key))}', not a string"
                    )
                key = repr(key)
            found[key] = self.read(f"{path}.{key}", depth + 1)
        return found

    def check(self, elements: int, path: str, depth: int) -> None:
        if depth >= MAX_DEPTH:
            raise Refused(path, f"nested deeper than {MAX_DEPTH} levels")
        if elements > len(self.data) - self.position:
            raise Refused(path, "the bytes end within a value")

    def read_ext(self, length: int, path: str) -> object:
        code = _b.unpack(self.take(1, path))[0]
        data = self.take(length, path)
        if self.lax:
            return data
        if code != -1:
            raise Refused(path, f"MessagePack extension {code}")
        from . import timestamps

        return timestamps.read(data, path)


_CONSTANTS: Final[dict[int, object]] = {0xC0: None, 0xC2: False, 0xC3: True}
_NUMBERS: Final = {
    **{0xCA: _f, 0xCB: _d, 0xCC: _B, 0xCD: _H, 0xCE: _I, 0xCF: _Q},
    **{0xD0: _b, 0xD1: _h, 0xD2: _i, 0xD3: _q},
}
_LENGTHS: Final = {
    **{0xC4: ("read_bin", _B), 0xC5: ("read_bin", _H), 0xC6: ("read_bin", _I)},
    **{0xC7: ("read_ext", _B), 0xC8: ("read_ext", _H), 0xC9: ("read_ext", _I)},
    **{0xD9: ("read_str", _B), 0xDA: ("read_str", _H), 0xDB: ("read_str", _I)},
    **{0xDC: ("read_list", _H), 0xDD: ("read_list", _I), 0xDE: ("read_map", _H), 0xDF: ("read_map", _I)},
}
