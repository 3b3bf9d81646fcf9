"""What a box costs, as the user wrote it down; nothing is guessed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_HOUR = 3600


def rate(prices: Mapping[str, Any]) -> str:
    """Return what an hour costs, such as "1.98 CNY an hour"; empty when nobody said."""
    return f"{prices['hour']} {prices['currency']} an hour" if prices else ""


def cost(prices: Mapping[str, Any], seconds: float) -> str:
    """Return what so many seconds cost, such as "0.19 CNY"; empty when nobody said."""
    from decimal import ROUND_HALF_UP, Decimal

    if not prices:
        return ""
    exact = Decimal(str(prices["hour"])) * Decimal(str(seconds)) / _HOUR
    return f"{exact.quantize(Decimal('0.01'), ROUND_HALF_UP)} {prices['currency']}"
