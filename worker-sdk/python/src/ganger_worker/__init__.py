"""Write workers for the Ganger process pool in Python.

>>> from ganger_worker import action, context
>>> @action(summary="Converts a price", idempotent=True)
... def convert(amount: float, currency: str = "EUR") -> float: ...
"""

from .actions import action
from .context import Cancelled, Context, InvalidItem, context
from .hooks import shutdown, startup

__version__ = "0.1.0"
__all__ = ["Cancelled", "Context", "InvalidItem", "action", "context", "shutdown", "startup"]
