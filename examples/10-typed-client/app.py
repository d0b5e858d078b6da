from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ganger import InvalidInput, Pool

if TYPE_CHECKING:
    from workers_client import Workers  # pyright: ignore[reportMissingModuleSource]

with Pool(python=Path(__file__).parent / "workers", workers=1) as pool:
    workers: Workers = pool.proxy(timeout="10s")

    price = workers.prices.convert(4, currency="USD")
    print(f"4 EUR are {price['amount']:.2f} {price['currency']}")

    for step in workers.prices.ladder.stream(1.5):
        print(f"ladder: {step:.2f}")

    try:
        # A type checker refuses this line; without one the worker does.
        workers.prices.convert(4, currency="GBP")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    except InvalidInput as error:
        print(f"GBP: {error.code}")
