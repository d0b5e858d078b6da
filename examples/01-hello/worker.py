"""Two functions that a pool can call."""

from ganger_worker import action


@action
def greet(name: str) -> str:
    return f"Hello, {name}! (from Python)"


@action(summary="Counts the words of a text")
def count_words(text: str) -> int:
    return len(text.split())
