"""An MCP server for the orders of a shop. Antiphon starts it, and calls its tools for the model."""

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations

server = MCPServer("orders")

ORDERS = {
    "1042": {"item": "storm lamp", "price": 59.0, "status": "shipped on Monday", "refunded": False},
    "1043": {"item": "tide clock", "price": 34.5, "status": "delivered on Friday", "refunded": False},
}


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def order_status(order_id: str) -> str:
    """Return the item, the price and the status of an order."""
    if order_id not in ORDERS:
        return f"There is no order {order_id}."
    order = ORDERS[order_id]
    refunded = ", refunded" if order["refunded"] else ""
    return f"Order {order_id}: {order['item']}, {order['price']:.2f} euros, {order['status']}{refunded}."


@server.tool()
def refund(order_id: str) -> str:
    """Refund an order in full. This cannot be undone."""
    if order_id not in ORDERS:
        return f"There is no order {order_id}."
    ORDERS[order_id]["refunded"] = True
    return f"Order {order_id} is refunded: {ORDERS[order_id]['price']:.2f} euros."


server.run("stdio")
