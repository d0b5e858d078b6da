"""From an input payload to arguments; what does not fit is refused before the function runs (R19)."""

from __future__ import annotations

from . import values
from .hints import EMPTY, fits, schema
from .protocol import Encoding
from .typed import cast
from .values import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from .signature import Signature
    from .typing_rules import Rules

    Arguments = tuple[tuple[Any, ...] | list[Any], dict[str, Any]]

_NIL: Final = b"\xc0"
_NO_NAMES: Final[dict[str, Any]] = {}


class Binding:
    """Made once a function, used once a call. What the hints demand is compiled when a call needs it.

    While msgspec is not there anyway, arguments that are exactly what simple hints name do not need it: its
    import would double the time of a start.
    """

    def __init__(self, signature: Signature, name: str) -> None:
        self._signature = signature
        self._name = name
        self._whole = signature.takes_whole_input
        self._by_name = {parameter.name: parameter for parameter in signature.parameters}
        self._positional = [parameter for parameter in signature.parameters if not parameter.keyword_only]
        self._free = signature.known and not signature.required and not signature.takes_whole_input
        self.view = _by_view(self._positional[0].hint) if self._positional else False
        self._typed = any(_demands(parameter.hint) for parameter in signature.parameters)
        self._loads: Callable[[bytes | memoryview], Any] | None = None
        self._compiled = False
        self._rules: Rules | None = None
        self._decode_fast: Callable[[bytes], tuple[Any, ...]] | None = None

    def arguments(self, encoding: int, shape: int, payload: bytes | memoryview) -> Arguments:
        if encoding == Encoding.RAW:
            return self._converted(*self._shaped(shape, payload))
        if encoding == Encoding.MESSAGEPACK:
            payload = cast("bytes", payload)  # only others come as views
            if shape == 0:
                if payload == _NIL and self._free:
                    return (), _NO_NAMES
                if values.fast and not self._compiled:
                    self._compile()
                fast = self._decode_fast
                if fast is not None and payload and (payload[0] & 0xF0 == 0x80 or payload[0] in (0xDE, 0xDF)):
                    try:
                        return fast(payload), _NO_NAMES
                    except Exception:
                        pass  # the way below finds the same fault and words it
            value = values.decode(payload)
            return self._converted(*self._shaped(shape, value))
        if encoding == Encoding.PICKLE:
            if self._loads is None:
                from .buffers import loads

                self._loads = loads
            return self._shaped(shape, self._loads(payload))
        raise Refused("$", f"a payload in an unknown encoding (0x{encoding:02x})")

    def _compile(self) -> None:
        values.use_msgspec()
        from .typing_rules import Rules

        self._rules = Rules(self._signature, self._name)
        self._decode_fast = self._rules.decode_fast
        self._compiled = True

    def _shaped(self, shape: int, value: Any) -> Arguments:
        if shape == 0:
            return self._spread(value)
        if shape == 1:
            return self._listed(value)
        raise Refused("$", f"an input of unknown shape {shape}")

    # --- one value

    def _spread(self, value: Any) -> Arguments:
        signature = self._signature
        if self._whole or not signature.known:
            return self._only(value)
        if type(value) is dict and (
            self._by_name or signature.variable_named or not signature.variable_positional
        ):
            return self._named(cast("dict[str, Any]", value), [])
        if value is None and self._free:
            return (), _NO_NAMES
        return self._only(value)

    def _only(self, value: Any) -> Arguments:
        stream = self._signature.stream
        if stream is not None and not self._positional:
            return self._named({stream: value}, [])  # all its items at once
        return self._named({}, [value], sole=True)

    # --- lists and names

    def _listed(self, value: Any) -> Arguments:
        if not isinstance(value, (list, tuple)) or len(cast("list[Any]", value)) != 2:
            raise Refused("$", "an input of shape 1 is a list of two: positional and named arguments")
        positional, named = cast("tuple[Any, Any]", value)
        if not isinstance(positional, (list, tuple)):
            raise Refused("$[0]", "the positional arguments are not a list")
        if not isinstance(named, dict):
            raise Refused("$[1]", "the named arguments are not a map")
        return self._named(cast("dict[str, Any]", named), list(cast("list[Any]", positional)))

    def _named(self, named: dict[str, Any], positional: list[Any], sole: bool = False) -> Arguments:
        signature = self._signature
        if not signature.known:
            return positional, named
        if len(positional) > len(self._positional) and not signature.variable_positional:
            raise Refused("$", self._too_many(len(positional), sole))
        taken = {parameter.name for parameter in self._positional[: len(positional)]}
        for name in named:
            if name not in self._by_name:
                if not signature.variable_named:
                    raise Refused(f"$.{name}", self._unknown(name))
            elif name in taken:
                raise Refused(f"$.{name}", f"parameter '{name}' is given twice")
        for parameter in signature.parameters:
            if parameter.required and parameter.name not in taken and parameter.name not in named:
                raise Refused(f"$.{parameter.name}", f"parameter '{parameter.name}' is missing")
        return self._order(named, positional)

    def _order(self, named: dict[str, Any], positional: list[Any]) -> Arguments:
        """Parameters that Python takes by position only are moved there from the names."""
        if not any(parameter.positional_only for parameter in self._positional[len(positional) :]):
            return positional, named
        named = dict(named)
        for parameter in self._positional[len(positional) :]:
            if not parameter.positional_only:
                break
            if parameter.name in named:
                positional.append(named.pop(parameter.name))
            elif any(later.name in named for later in self._positional if later.positional_only):
                positional.append(parameter.default)
            else:
                break
        return positional, named

    def _converted(self, positional: tuple[Any, ...] | list[Any], named: dict[str, Any]) -> Arguments:
        if not self._compiled:
            if not self._typed or (not values.fast and self._fits(positional, named)):
                return positional, named
            self._compile()
        rules = self._rules
        if rules is None or not rules.any:
            return positional, named
        sole = len(positional) == 1 and not named
        ready = [self._convert_at(rules, index, value, sole) for index, value in enumerate(positional)]
        return ready, {name: rules.convert(name, value, f"$.{name}") for name, value in named.items()}

    def _fits(self, positional: tuple[Any, ...] | list[Any], named: dict[str, Any]) -> bool:
        """Whether no hint would change or refuse an argument."""
        at = zip(self._positional, positional, strict=False)
        return all(value is it.default or fits(it.hint, value) for it, value in at) and all(
            fits(self._by_name[name].hint, value) for name, value in named.items() if name in self._by_name
        )

    def _convert_at(self, rules: Rules, index: int, value: Any, sole: bool) -> Any:
        if index >= len(self._positional) or value is self._positional[index].default:
            return value
        name = self._positional[index].name
        return rules.convert(name, value, "$" if sole else f"$.{name}")

    # --- words

    def _too_many(self, given: int, sole: bool) -> str:
        if not sole:
            return f"{given} positional arguments where {len(self._positional)} are taken"
        return "the function takes named parameters only" if self._by_name else "the function takes no input"

    def _unknown(self, name: str) -> str:
        import difflib

        close = difflib.get_close_matches(name, self._by_name, 1)
        hint = f"; did you mean '{close[0]}'?" if close else ""
        if len(self._by_name) == 1 and not close:
            only = next(iter(self._by_name))
            hint = f"; annotate the only parameter '{only}' as a dict to receive the whole map"
        return f"the function has no parameter '{name}'{hint}"


def _by_view(hint: Any) -> bool | None:
    """Whether bytes are wanted as a memoryview; None: it does not say."""
    return None if hint is EMPTY else hint is memoryview


def _demands(hint: Any) -> bool:
    """Any demands nothing, and its schema is empty."""
    return hint is not EMPTY and schema(hint) != {}
