"""Values that the server passes to handlers, not the model: pmcp dev server_context.py.

A resolver runs before the handler and may remove arguments. Its result is passed to every handler
that has a parameter of its name. SDK 0.3.1 nevertheless lists that parameter in the tool's schema.
"""
import os

from protomcp import server_context, tool


@server_context("user")
def user(arguments: dict) -> str:
    return os.environ.get("NOTES_USER", "guest")


@server_context("folder", expose=False)
def folder(arguments: dict) -> str:
    return arguments.pop("workspace", "home")


@tool("Says who asks, and where.", read_only=True)
def whoami(user: str = "", folder: str = "") -> str:
    return f"{user} in {folder}"


@tool("Needs none of it.", read_only=True)
def plain(text: str) -> str:
    return text
