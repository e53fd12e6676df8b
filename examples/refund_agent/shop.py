"""A shop that writes each refund into a file, so that you can count them."""

from pathlib import Path
from typing import Any

PAID = Path("refunds.txt")


def find_order(order_id: str) -> dict[str, Any]:
    """Return an order."""
    return {"id": order_id, "total": 59.0}


def refund(order_id: str, amount: float) -> str:
    """Pay the money back, and return the receipt. It must not happen twice."""
    with PAID.open("a") as file:
        file.write(f"{order_id} {amount}\n")
    return f"receipt-{order_id}"
