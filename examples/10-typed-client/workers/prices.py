"""What the app knows of these functions, it knows from their hints."""

from collections.abc import Iterator
from typing import Literal, TypedDict

from ganger_worker import action

Currency = Literal["EUR", "USD"]
RATES = {"EUR": 1.0, "USD": 1.25}


class Price(TypedDict):
    amount: float
    currency: Currency


@action(summary="Converts an amount of euros", idempotent=True)
def convert(amount: float, currency: Currency = "EUR") -> Price:
    return {"amount": amount * RATES[currency], "currency": currency}


@action(summary="The price of each more, as long as somebody reads")
def ladder(price: float, steps: int = 3) -> Iterator[float]:
    for step in range(1, steps + 1):
        yield price * step
