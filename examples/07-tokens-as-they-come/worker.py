"""A model that writes word by word, and a reader that answers line by line."""

import asyncio
from collections.abc import AsyncIterator, Iterator

from ganger_worker import action, context

TEXT = "Once upon a time there was a pool whose workers never left a call behind"


@action
async def tokens(forever: bool = False) -> AsyncIterator[str]:
    """Goes on only while somebody reads."""
    while True:
        for word in TEXT.split():
            await asyncio.sleep(0.005)
            yield word
        if not forever:
            return


@action
def shout(lines: Iterator[str]) -> Iterator[str]:
    """Reads a stream and answers with one."""
    for number, line in enumerate(lines, 1):
        context.progress(number, note=line)
        yield f"{line.upper()}!"
