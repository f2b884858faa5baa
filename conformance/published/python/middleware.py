"""Middleware that the bridge runs around every call of this process: pmcp dev middleware.py.

Before the call it may change the arguments or reject the call; after it, it may change the result. The lowest
priority comes first before the call and last after it.
"""
import json

from protomcp import middleware, tool


@middleware("limits", priority=10)
def limits(phase, tool_name, args_json, result_json, is_error):
    if phase == "before" and json.loads(args_json).get("amount", 0) > 100:
        return {"reject": True, "reject_reason": "at most 100 at a time"}
    return {}


@middleware("currency", priority=20)
def currency(phase, tool_name, args_json, result_json, is_error):
    if phase == "before":
        arguments = json.loads(args_json)
        arguments.setdefault("currency", "EUR")
        return {"arguments_json": json.dumps(arguments)}
    return {"result_json": result_json.replace("EUR", "€")}


@tool("Pays an amount.")
def pay(amount: int, currency: str = "") -> str:
    return f"paid {amount} {currency}"
