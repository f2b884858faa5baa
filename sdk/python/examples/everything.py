"""All that the official conformance suite asks a server for: pmcp run everything.py --transport http."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from protomcp import (
    AsyncContext,
    Audio,
    Embedded,
    Form,
    Image,
    PromptMessage,
    Roots,
    Sample,
    TaskError,
    ToolError,
    completion,
    prompt,
    prompts_changed,
    resource,
    resource_template,
    tool,
    tools_changed,
)
from protomcp.runner import run

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)
WAV = bytes.fromhex(
    "524946462400000057415645666d74201000000001000100" + "44ac0000885801000200100064617461" + "00000000"
)

changes = 0


def form(**properties: str) -> dict[str, Any]:
    """A form with required fields of these types."""
    fields = {name: {"type": kind} for name, kind in properties.items()}
    return {"type": "object", "properties": fields, "required": list(properties)}


NAME = Form("What is your name?", form(name="string"), key="user_name")
CAPITAL = Sample("What is the capital of France?", max_tokens=100, key="capital_question")


@tool
def test_simple_text() -> str:
    """Returns text."""
    return "This is a simple text response for testing."


@tool
def greet(name: str) -> str:
    """Greets."""
    return f"Hello, {name}!"


@tool
def test_error_handling() -> str:
    """Fails."""
    raise ToolError("This tool intentionally returns an error for testing")


@tool
def test_image_content() -> Image:
    """Returns a picture."""
    return Image(PNG)


@tool
def test_audio_content() -> Audio:
    """Returns a sound."""
    return Audio(WAV)


@tool
def test_embedded_resource() -> Embedded:
    """Returns a resource."""
    return Embedded("test://embedded-resource", "This is an embedded resource content.", "text/plain")


@tool
def test_multiple_content_types() -> list[Any]:
    """Returns a text, a picture and a resource."""
    mixed = Embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
    return ["Multiple content types test:", Image(PNG), mixed]


async def log_a_while(ctx: AsyncContext) -> str:
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        ctx.log.info("", data=text)
        await asyncio.sleep(0.05)
    return "Tool with logging executed successfully"


@tool
async def test_tool_with_logging(ctx: AsyncContext) -> str:
    """Logs while it works."""
    return await log_a_while(ctx)


@tool
async def test_logging_tool(ctx: AsyncContext) -> str:
    """Logs, if the client wants it."""
    return await log_a_while(ctx)


@tool
async def test_tool_with_progress(ctx: AsyncContext) -> str:
    """Reports progress."""
    for done in (0, 50, 100):
        ctx.report_progress(done, 100, f"Completed step {done} of 100")
        await asyncio.sleep(0.05)
    return "Tool with progress executed successfully"


@tool
async def test_reconnection() -> str:
    """Takes a while."""
    await asyncio.sleep(0.1)
    return "Reconnection test completed successfully"


@tool
def test_streaming_elicitation() -> str:
    """Answers without asking."""
    return "done"


@tool
def test_custom_header(value: str) -> str:
    """Takes an argument that is a header, too."""
    return f"Got {value}"


HEADER_SCHEMA = {
    "type": "object",
    "properties": {"value": {"type": "string", "description": "Any text", "x-mcp-header": "Value"}},
    "required": ["value"],
}
tool("Takes an argument that is a header, too.", name="test_custom_header", input_schema=HEADER_SCHEMA)(
    test_custom_header
)

CONTACT_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        },
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@tool(input_schema=CONTACT_SCHEMA)
def json_schema_2020_12_tool(**arguments: Any) -> str:
    """Has a schema with many keywords."""
    return json.dumps(arguments)


# Questions


@tool
async def test_sampling(ctx: AsyncContext, prompt: str = "What is the capital of France?") -> str:
    """Asks the model."""
    answer = await ctx.sample(prompt, max_tokens=100)
    return f"LLM response: {answer['content']}"


@tool
async def test_missing_capability(ctx: AsyncContext) -> str:
    """Needs a client with a model."""
    return await test_sampling(ctx)


@tool
async def test_elicitation(ctx: AsyncContext, message: str = "Please answer") -> str:
    """Asks the user."""
    text = {"type": "string", "description": "User's response"}
    wanted = {
        "type": "object",
        "properties": {"username": text, "email": text},
        "required": ["username", "email"],
    }
    answer = await ctx.ask(message, wanted)
    return f"User response: action={answer.action}, content={json.dumps(answer.content)}"


@tool
async def test_elicitation_sep1034_defaults(ctx: AsyncContext) -> str:
    """Asks with defaults."""
    properties: dict[str, Any] = {
        "name": {"type": "string", "description": "User name", "default": "John Doe"},
        "age": {"type": "integer", "description": "User age", "default": 30},
        "score": {"type": "number", "description": "User score", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "description": "Verification status", "default": True},
    }
    answer = await ctx.ask("Please answer", {"type": "object", "properties": properties, "required": []})
    return f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}"


@tool
async def test_elicitation_sep1330_enums(ctx: AsyncContext) -> str:
    """Asks for choices."""
    titled = [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]
    options = ["option1", "option2"]
    names = ["Option One", "Option Two"]
    properties: dict[str, Any] = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": names},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    answer = await ctx.ask("Please answer", {"type": "object", "properties": properties, "required": []})
    return f"Elicitation completed: action={answer.action}, content={json.dumps(answer.content)}"


async def ask_name(ctx: AsyncContext, key: str = "user_name") -> str:
    (answer,) = await ctx.ask_all(Form("What is your name?", form(name="string"), key=key))
    return f"state-ok: Hello, {(answer.content or {}).get('name', 'stranger')}!"


@tool
async def test_input_required_result_elicitation(ctx: AsyncContext) -> str:
    """Asks for a name."""
    return await ask_name(ctx)


@tool
async def test_input_required_result_request_state(ctx: AsyncContext) -> str:
    """Asks for a name."""
    return await ask_name(ctx, "confirm")


@tool
async def test_input_required_result_tampered_state(ctx: AsyncContext) -> str:
    """Asks for a name."""
    return await ask_name(ctx, "confirm")


@tool
async def test_input_required_result_multi_round(ctx: AsyncContext) -> str:
    """Asks twice."""
    (first,) = await ctx.ask_all(Form("What is your name?", form(name="string"), key="step1"))
    (second,) = await ctx.ask_all(Form("What is your favorite color?", form(color="string"), key="step2"))
    return f"{first.content} {second.content}"


@tool
async def test_input_required_result_sampling(ctx: AsyncContext) -> str:
    """Asks the model."""
    (answer,) = await ctx.ask_all(CAPITAL)
    return str(answer["content"])


@tool
async def test_input_required_result_capabilities(ctx: AsyncContext) -> str:
    """Asks what the client can answer."""
    (answer,) = await ctx.ask_all(CAPITAL)
    return str(answer["content"])


@tool
async def test_input_required_result_list_roots(ctx: AsyncContext) -> str:
    """Asks for the folders."""
    (found,) = await ctx.ask_all(Roots(key="client_roots"))
    return f"{len(found)} roots"


@tool
async def test_input_required_result_multiple_inputs(ctx: AsyncContext) -> str:
    """Asks three questions concurrently."""
    question = Sample("Generate a greeting", max_tokens=50, key="greeting")
    name, greeting, roots = await ctx.ask_all(NAME, question, Roots(key="client_roots"))
    return f"{name.content} {greeting['content']} {len(roots)}"


# Tasks


@tool(task_support=True)
async def slow_compute(seconds: float = 0.0, label: str = "") -> str:
    """Computes for a while."""
    await asyncio.sleep(seconds)
    return f"computed {label} for {seconds} seconds"


@tool(task_support=True)
async def protocol_error_job() -> str:
    """Fails as the server does."""
    await asyncio.sleep(0.1)
    raise TaskError("the job could not be carried out")


@tool(task_required=True)
async def failing_job() -> str:
    """Fails after a second."""
    await asyncio.sleep(1)
    raise ToolError("the job has failed")


@tool(task_support=True)
async def confirm_delete(ctx: AsyncContext, filename: str = "") -> str:
    """Asks before it deletes."""
    ctx.continue_as_task()
    (answer,) = await ctx.ask_all(Form(f"Delete {filename}?", form(confirm="boolean"), key="confirm"))
    return f"{answer.action} {answer.content}"


@tool(task_support=True)
async def multi_input(ctx: AsyncContext) -> str:
    """Asks two questions concurrently."""
    ctx.continue_as_task()
    first, second = await ctx.ask_all(
        Form("The first?", form(name="string"), key="first"), Form("The second?", form(name="string"), key="second")
    )
    return f"{first.content} {second.content}"


@tool(task_required=True)
async def test_tool_with_task(ctx: AsyncContext) -> str:
    """Asks for a name, then goes on as a task."""
    found = await ask_name(ctx)
    ctx.continue_as_task()
    await asyncio.sleep(0.2)
    return found


# Lists that change


@tool
def test_trigger_tool_change() -> str:
    """Changes the list of tools."""
    global changes
    changes += 1
    tool(f"Was changed {changes} times.", name="test_changed")(test_simple_text)
    tools_changed()
    return "changed"


@tool
def test_trigger_prompt_change() -> str:
    """Changes the list of prompts."""
    global changes
    changes += 1
    prompt(f"Was changed {changes} times.", name=f"test_changed_{changes}")(test_simple_prompt)
    prompts_changed()
    return "changed"


# Resources


@resource("test://static-text", "Text", name="Static Text Resource", mime_type="text/plain")
def static_text() -> str:
    return "This is the content of the static text resource."


@resource("test://static-binary", "A picture", name="Static Binary Resource", mime_type="image/png")
def static_binary() -> bytes:
    return PNG


@resource("test://watched-resource", "Text", name="Watched Resource", mime_type="text/plain")
def watched() -> str:
    return "Watched resource content"


@resource_template("test://template/{id}/data", "Data", name="Resource Template", mime_type="application/json")
def template(id: str) -> dict[str, Any]:
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


# Prompts


@prompt("A prompt without arguments")
def test_simple_prompt() -> str:
    return "This is a simple prompt for testing."


@prompt("A prompt with two arguments")
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@prompt("A prompt with a resource")
def test_prompt_with_embedded_resource(resourceUri: str) -> list[PromptMessage]:
    embedded = Embedded(resourceUri, "Embedded resource content for testing.", "text/plain")
    return [PromptMessage("user", embedded), PromptMessage("user", "Please process the embedded resource above.")]


@prompt("A prompt with a picture")
def test_prompt_with_image() -> list[PromptMessage]:
    return [PromptMessage("user", Image(PNG)), PromptMessage("user", "Please analyze the image above.")]


@prompt("A prompt that asks")
async def test_input_required_result_prompt(ctx: AsyncContext) -> str:
    (answer,) = await ctx.ask_all(
        Form("What context should the prompt use?", form(context="string"), key="user_context")
    )
    return f"Use this context: {(answer.content or {}).get('context', '')}"


@completion("ref/prompt", "test_prompt_with_arguments", "arg1")
def suggestions(typed: str) -> list[str]:
    return [word for word in ("testing", "tested", "paris", "park", "party") if word.startswith(typed)]


if __name__ == "__main__":
    run()
