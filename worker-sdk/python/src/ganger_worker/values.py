"""Values to MessagePack and back: by our own codec at first, by msgspec from when a worker has enough to do.

msgspec is many times faster, but its import takes as long as hundreds of small values do. So ``encode`` and
``decode`` are variables, to be used as ``values.encode(…)``: they change over once, which costs no call.
Bodies go by what is there. They may be made anywhere, even in a finalizer that runs amid the import.
"""

from __future__ import annotations

from . import messagepack
from .messagepack import Refused
from .typed import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, Final

__all__ = ["Refused", "decode", "decode_body", "depth", "encode", "encode_body", "fast", "use_msgspec"]

_FEW: Final = 32  # payloads
_SMALL: Final = 1024  # bytes, or what takes about as long
_LEAVES: Final = frozenset({type(None), bool, int, float})
_BYTES: Final = frozenset({bytes, bytearray})
# The first byte of a payload that is bytes or text, all of it one piece.
_ONE_PIECE: Final = frozenset({0xC4, 0xC5, 0xC6, 0xD9, 0xDA, 0xDB})

fast = False
_used = 0


def use_msgspec() -> bool:
    """From now on by msgspec. False: it is not installed."""
    global encode, decode, encode_body, decode_body, fast
    try:
        from . import msgspec_codec
    except ImportError:
        encode, decode = messagepack.encode, messagepack.decode
        return False
    encode = encode_body = msgspec_codec.encode
    decode, decode_body = msgspec_codec.decode, msgspec_codec.decode_body
    fast = True
    return True


def _encode_first(value: object) -> bytes:
    if _is_one_of_few() and _size(value, _SMALL) < _SMALL:
        return messagepack.encode(value)
    use_msgspec()
    return encode(value)


def _decode_first(data: bytes | memoryview) -> object:
    if _is_one_of_few() and (len(data) < _SMALL or data[0] in _ONE_PIECE):
        return messagepack.decode(data)
    use_msgspec()
    return decode(data)


def _decode_body_first(data: bytes) -> object:
    return messagepack.decode(data, lax=True)


# MessagePack of a value; raises Refused with the path of what cannot cross.
encode: Callable[[object], bytes] = _encode_first
# The value of a payload; raises Refused with the path of what is not allowed.
decode: Callable[[bytes | memoryview], object] = _decode_first
encode_body: Callable[[object], bytes] = messagepack.encode
# A body's value. Unlike a payload's it may hold anything in places that this version does not read.
decode_body: Callable[[bytes], object] = _decode_body_first


def depth(value: object) -> int:
    """How deep lists and maps are nested in a decoded value."""
    deepest, level = 0, [value]
    while containers := [cast("Any", item) for item in level if isinstance(item, (dict, list))]:
        deepest += 1
        level = [item for container in containers for item in _inside(container)]
    return deepest


def _inside(container: Any) -> Iterable[object]:
    return cast("Iterable[object]", container.values() if isinstance(container, dict) else container)


def _is_one_of_few() -> bool:
    global _used
    _used += 1
    return _used <= _FEW


def _size(value: object, limit: int) -> int:
    """About how many bytes of MessagePack; not looked at any further than to the limit."""
    kind = type(value)
    if kind in _LEAVES:
        return 8
    if kind in _BYTES:
        return 8  # of any length: one copy
    if kind is str:
        return 8 + len(cast("str", value))
    if kind not in (dict, list, tuple):
        return limit  # a type for which the codec has to import as much
    size = 8
    for item in _inside(value):
        size += 8 + _size(item, limit - size)
        if size >= limit:
            return limit
    return size
