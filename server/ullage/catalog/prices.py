"""What models cost, where that is known: list prices of the providers' own APIs."""

from functools import cache
from pathlib import Path

import msgspec

from ullage.catalog.limits import listed_names
from ullage.model.price import Price, PriceTier

PRICES = Path(__file__).with_name("data") / "prices.json"
# Only Google serves Gemini, so its models are known without the provider's name. Open models cost what whoever serves
# them asks, at home nothing.
_SOLE = "gemini/"


def price_of(model: str) -> Price | None:
    """The list price of a model by any of its names. Never guessed: None for a fine-tuned model, for a router's variant
    and for what is not listed."""
    if ":" in model:
        return None
    listed = _listed()
    return next((listed[name] for name, _ in listed_names(model) if name in listed), None)


@cache
def _listed() -> dict[str, Price]:
    tiers = msgspec.json.decode(PRICES.read_bytes(), type=dict[str, tuple[PriceTier, ...]])
    prices = {name: Price(found) for name, found in tiers.items()}
    return {name.removeprefix(_SOLE): price for name, price in prices.items()} | prices
