"""Resources, a template, prompts and completion: pmcp dev resources_prompts.py.

A resource is data that a client reads by its URI, a template describes a family of resources, a prompt is a text that a
user picks and fills in, and a completion suggests values for its arguments. Try it: add a note and save; the client is
notified that the list has changed.
"""
from protomcp import (
    CompletionResult, PromptArg, PromptMessage, ResourceContent, completion, prompt, resource, resource_template
)

NOTES = {"tea": "Steep for four minutes.", "cake": "Bake for forty minutes."}
DOT = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)


@resource("notes://all", description="The names of all notes.", name="all", mime_type="text/plain")
def all_notes(uri: str) -> str:
    return ", ".join(NOTES)


@resource("notes://dot", description="A picture: bytes travel in base64.", name="dot", mime_type="image/png")
def dot(uri: str) -> ResourceContent:
    return ResourceContent(uri=uri, blob=DOT, mime_type="image/png")


@resource_template("notes://one/{name}", description="One note.", name="one", mime_type="text/plain")
def one(uri: str):
    name = uri.rsplit("/", 1)[1]
    # An empty result means that the resource does not exist.
    return [ResourceContent(uri=uri, text=NOTES[name])] if name in NOTES else []


@prompt(
    description="Asks for a summary of a note.",
    arguments=[PromptArg("name", "Which note.", required=True), PromptArg("tone", "How to put it.")],
)
def summarize(name: str, tone: str = "plain"):
    return [
        PromptMessage(role="user", content=f"Summarize in a {tone} tone: {NOTES.get(name, name)}"),
        PromptMessage(role="assistant", content="In short:"),
    ]


@completion("ref/prompt", "summarize", "name")
@completion("ref/resource", "notes://one/{name}", "name")
def names(typed: str) -> CompletionResult:
    fitting = sorted(name for name in NOTES if name.startswith(typed))
    return CompletionResult(values=fitting, total=len(fitting))
