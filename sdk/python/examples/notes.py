"""Resources, a template, a prompt and completion: pmcp dev notes.py."""

from protomcp import PromptMessage, completion, prompt, resource, resource_template

NOTES = {"tea": "Steep for four minutes.", "cake": "Bake for forty minutes."}


@resource("notes://all", "The names of all notes.", name="all", mime_type="text/plain")
def all_notes() -> str:
    return ", ".join(NOTES)


@resource_template("notes://one/{name}", "One note.", mime_type="text/plain")
def one(name: str) -> str | list[str]:
    # An empty list means that there is no such resource.
    return NOTES.get(name, [])


@prompt("Asks for a summary of a note.")
def summarize(name: str, tone: str = "plain") -> list[PromptMessage]:
    return [
        PromptMessage("user", f"Summarize in a {tone} tone: {NOTES.get(name, name)}"),
        PromptMessage("assistant", "In short:"),
    ]


@completion("ref/prompt", "summarize", "name")
@completion("ref/resource", "notes://one/{name}", "name")
def names(typed: str) -> list[str]:
    return sorted(name for name in NOTES if name.startswith(typed))
