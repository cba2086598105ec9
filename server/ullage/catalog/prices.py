"""Prices of models, where they are known: list prices of the providers' own APIs."""

from functools import cache, lru_cache
from pathlib import Path

import msgspec

from ullage.catalog.limits import listed_names
from ullage.model.usage import Price, PriceTier

PRICES = Path(__file__).with_name("data") / "prices.json"
# Only Google serves Gemini, so its models are found without the provider's name. The price of an open model depends on
# who serves it.
_SOLE = "gemini/"


# Asked with every report of usage, of a few models; a client may name any number of them.
@lru_cache(maxsize=256)
def price_of(model: str) -> Price | None:
    """Returns the list price of a model by its name as any provider spells it. It is never guessed: returns None for a
    fine-tuned model, for a router's variant (a name with `:`), and for a model that is not listed."""
    if ":" in model:
        return None
    listed = _listed()
    return next((listed[name] for name, _ in listed_names(model) if name in listed), None)


@cache
def _listed() -> dict[str, Price]:
    tiers = msgspec.json.decode(PRICES.read_bytes(), type=dict[str, tuple[PriceTier, ...]])
    prices = {name: Price(found) for name, found in tiers.items()}
    return {name.removeprefix(_SOLE): price for name, price in prices.items()} | prices
