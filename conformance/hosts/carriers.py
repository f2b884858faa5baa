"""The tools and resources of the scenarios that run over every carrier of proto-mcp."""
import asyncio
import time

from protomcp import (
    CompletionResult, PromptArg, PromptMessage, ToolContext, ToolResult, completion, prompt, resource, resource_template,
    runner, tool,
)
from protomcp import protomcp_pb2 as pb
from protomcp.runner import run


@tool("Adds two integers.")
def add(a: int, b: int) -> str:
    return str(a + b)


@tool("Says the text this many times.")
def repeat(text: str, times: int) -> str:
    return text * times


@tool("Fails.")
def broken() -> ToolResult:
    return ToolResult(result="just broken", is_error=True)


@tool("Waits, then says how long.")
async def sleep_ms(ms: int) -> str:
    await asyncio.sleep(ms / 1000)
    return f"slept {ms}"


@tool("Waits until it is cancelled, then notes it in a file.")
async def until_cancelled(note: str) -> str:
    try:
        with open(note, "w") as file:
            file.write("running")
        await asyncio.sleep(600)
    finally:
        with open(note, "w") as file:
            file.write("finally ran")
    return "never"


@tool("Logs and reports progress, step by step.")
def steps(count: int, ctx: ToolContext) -> str:
    for step in range(1, count + 1):
        runner.log.info(f"log {step}", data=f"log {step}")
        ctx.report_progress(step, count, f"step {step}")
        time.sleep(0.02)
    return f"took {count} steps"


@tool("Says that a resource has changed.")
def touch(uri: str) -> str:
    # The package has no function for it.
    runner.log._send_fn(pb.Envelope(resource_changed=pb.ResourceChangedNotification(uri=uri)))
    return "touched"


@resource("test://text", description="A text.", mime_type="text/plain")
def text(uri: str) -> str:
    return "the content"


@resource("test://other", description="Another text.", mime_type="text/plain")
def other(uri: str) -> str:
    return "other content"


@resource_template("test://notes/{name}", description="A note.", mime_type="text/plain")
def note(uri: str) -> str:
    return uri


@prompt(description="Greets.", arguments=[PromptArg("name", required=True), PromptArg("tone")])
def greeting(name: str, tone: str = "kind") -> PromptMessage:
    return PromptMessage(role="user", content=f"a {tone} greeting for {name}")


@completion("ref/prompt", "greeting", "tone")
def tones(typed: str) -> CompletionResult:
    return CompletionResult(values=[word for word in ("kind", "kinder", "short") if word.startswith(typed)])


if __name__ == "__main__":
    run()
