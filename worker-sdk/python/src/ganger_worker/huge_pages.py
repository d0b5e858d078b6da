"""Long byte strings in pages of the large kind, where the system has such.

Most of what a copy of 64 MiB costs is 16 000 fresh pages; of the large kind they are made in a fifth of the
time. Shorter strings lie in memory that the allocator had before.
"""

from __future__ import annotations

import os
from ctypes import c_char_p, c_int, c_size_t, c_ssize_t, c_ubyte, c_void_p, py_object
from mmap import PAGESIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

_MADV_HUGEPAGE: Final = 14


def read(descriptor: int, offset: int, length: int) -> bytes | None:
    """What lies there in a file. None: this Python cannot, or the file is shorter."""
    api = _api()
    if api is None:
        return None
    make, start_of, advise = api
    data: bytes = make(None, length)
    start = start_of(data)
    first = -(-start // PAGESIZE) * PAGESIZE
    advise(first, (start + length - first) // PAGESIZE * PAGESIZE, _MADV_HUGEPAGE)
    # Nobody else has seen it yet: so it may be written, as the interpreter's own code does it.
    room = memoryview((c_ubyte * length).from_address(start)).cast("B")
    done = 0
    while done < length:
        count = os.preadv(descriptor, [room[done:]], offset + done)
        if not count:
            return None
        done += count
    return data


def _api() -> Any:
    """Makes a string that is to be filled, says where its bytes lie, and how memory will be used."""
    try:
        from ctypes import CDLL, pythonapi

        make, start_of = pythonapi.PyBytes_FromStringAndSize, pythonapi.PyBytes_AsString
        advise = CDLL(None).madvise
    except (ImportError, AttributeError, OSError, TypeError):
        return None
    make.restype, make.argtypes = py_object, [c_char_p, c_ssize_t]
    start_of.restype, start_of.argtypes = c_void_p, [py_object]
    advise.restype, advise.argtypes = c_int, [c_void_p, c_size_t, c_int]
    return make, start_of, advise
