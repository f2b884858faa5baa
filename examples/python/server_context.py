"""Values that handlers get from the server and not from the model: pmcp dev server_context.py.

A resolver sees the arguments before the handler does, may take some out, and its result is passed to every handler
that has a parameter of its name. SDK 0.3.1 lists that parameter in the tool's schema all the same.
"""
import os

from protomcp import server_context, tool


@server_context("user")
def user(arguments: dict) -> str:
    return os.environ.get("NOTES_USER", "nobody")


@server_context("folder", expose=False)
def folder(arguments: dict) -> str:
    return arguments.pop("workspace", "home")


@tool("Says who asks, and where.", read_only=True)
def whoami(user: str = "", folder: str = "") -> str:
    return f"{user} in {folder}"


@tool("Needs none of it.", read_only=True)
def plain(text: str) -> str:
    return text
