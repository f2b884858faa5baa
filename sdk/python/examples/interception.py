"""Middleware that the bridge runs around every call of this process: pmcp dev interception.py.

Before the call it may change the arguments or reject the call; after it, it may change the result. The lowest
priority comes first before the call and last after it.
"""

import json

from protomcp import middleware, tool


@middleware("limits", priority=10)
def limits(phase: str, tool_name: str, args_json: str, result_json: str, is_error: bool) -> dict[str, object]:
    if phase == "before" and json.loads(args_json).get("amount", 0) > 100:
        return {"reject": True, "reject_reason": "at most 100 at a time"}
    return {}


@middleware("currency", priority=20)
def currency(phase: str, tool_name: str, args_json: str, result_json: str, is_error: bool) -> dict[str, object]:
    if phase == "before":
        return {"arguments_json": json.dumps({"currency": "EUR"} | json.loads(args_json))}
    return {"result_json": result_json.replace("EUR", "€")}


@tool("Pays an amount.")
def pay(amount: int, currency: str = "") -> str:
    return f"paid {amount} {currency}"
