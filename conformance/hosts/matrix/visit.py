"""One connection of a Python client in the matrix, feature by feature, in the words of the official client's methods."""
import asyncio
import json

import mcp_types as types
from mcp import MCPError
from mcp.client.subscriptions import (
    ListenNotSupportedError,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from report import NEWEST, has, is_, lacks

WATCHED = "test://watched-resource"


class Visit:
    """All features of one connection."""

    def __init__(self, client, report, told, logs):
        self.client, self.report, self.told, self.logs = client, report, told, logs
        self.is_newest = report.revision == NEWEST

    async def text(self, tool, /, **arguments):
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result
        return result.content[0].text

    async def open(self):
        is_(self.client.protocol_version, self.report.revision)
        is_(self.client.server_info.name, self.report.plan["server"])
        assert self.client.server_capabilities.tools.list_changed

    async def ping(self):
        if not self.is_newest:
            await self.client.send_ping()
            return
        try:
            await self.client.send_ping()
        except MCPError as error:
            lacks("the revision has no ping", error.error.code == types.METHOD_NOT_FOUND)
        raise AssertionError("a ping was answered")

    async def pages(self, ask, items):
        """All items, page by page."""
        found, cursor, pages = [], None, 0
        while True:
            page = await ask(cursor=cursor)
            found += getattr(page, items)
            cursor, pages = page.next_cursor, pages + 1
            if cursor is None:
                break
        is_(pages > 1, self.report.plan["pages"])
        return found

    async def tools(self):
        tools = await self.pages(self.client.list_tools, "tools")
        names = [tool.name for tool in tools]
        is_(names, sorted(names))
        has(names, "test_structured")
        is_(len(set(names)), len(names))

    async def call(self):
        is_(await self.text("test_simple_text"), "This is a simple text response for testing.")

    async def content(self):
        kinds = []
        for tool in ["image_content", "audio_content", "embedded_resource", "multiple_content_types", "resource_link"]:
            result = await self.client.call_tool(f"test_{tool}", {})
            kinds.append([block.type for block in result.content])
        is_(kinds, [["image"], ["audio"], ["resource"], ["text", "image", "resource"], ["resource_link"]])

    async def structured(self):
        result = await self.client.call_tool("test_structured", {"a": 2, "b": 3})
        is_(result.structured_content, {"sum": 5})
        is_(json.loads(result.content[0].text), {"sum": 5})

    async def failure(self):
        result = await self.client.call_tool("test_error_handling", {})
        is_((result.is_error, result.content[0].text), (True, "This tool intentionally returns an error for testing"))
        wrong = await self.client.call_tool("test_structured", {"a": "two", "b": 3})
        assert wrong.is_error, "arguments of the wrong type were taken"

    async def refusal(self):
        for ask in (self.client.call_tool("no_such_tool", {}), self.client.get_prompt("no_such_prompt")):
            try:
                await ask
            except MCPError as error:
                is_(error.error.code, types.INVALID_PARAMS)
            else:
                raise AssertionError("what is not there was found")

    async def progress(self):
        seen = []

        async def on_progress(progress, total, message):
            seen.append((progress, total, message))

        await self.client.call_tool("test_tool_with_progress", {}, progress_callback=on_progress)
        is_(seen, [(float(n), 100.0, f"Completed step {n} of 100") for n in (0, 50, 100)])

    async def cancellation(self):
        running = asyncio.Event()

        async def on_progress(*_):
            running.set()

        call = asyncio.create_task(self.client.call_tool("test_wait", {}, progress_callback=on_progress))
        await running.wait()
        call.cancel()
        is_(await self.text("test_given_up"), "given up")

    async def log(self):
        """A call that logs. In the newest revision the client was told to ask for it with every request."""
        await self.client.call_tool("test_tool_with_logging", {})

    async def logging(self):
        if self.is_newest:
            await self.log()
        else:
            await self.client.set_logging_level("error")
            await self.log()
            await self.client.set_logging_level("info")
            await self.log()
        await self.logs.until(lambda log: log.data == "Tool execution completed")
        assert len(self.logs.seen) == 0, f"there is more than was asked for: {self.logs.seen}"

    async def resources(self):
        uris = [str(found.uri) for found in await self.pages(self.client.list_resources, "resources")]
        has(uris, WATCHED)
        text = (await self.client.read_resource("test://static-text")).contents[0]
        is_((text.text, text.mime_type), ("This is the content of the static text resource.", "text/plain"))
        has((await self.client.read_resource("test://static-binary")).contents[0].blob, "iVBORw0KGgo")
        try:
            await self.client.read_resource("test://nothing")
        except MCPError as error:
            is_(error.error.code, types.INVALID_PARAMS if self.is_newest else -32002)
        else:
            raise AssertionError("a resource that is not there was read")

    async def templates(self):
        listed = (await self.client.list_resource_templates()).resource_templates
        is_([template.uri_template for template in listed], ["test://template/{id}/data"])
        read = (await self.client.read_resource("test://template/7/data")).contents[0]
        is_(json.loads(read.text)["id"], "7")

    async def subscription(self):
        if self.is_newest:
            async with self.client.listen(resource_subscriptions=[WATCHED]) as events:
                await self.text("test_touch_resource")
                is_(await anext(events), ResourceUpdated(uri=WATCHED))
            return
        await self.client.subscribe_resource(WATCHED)
        await self.text("test_touch_resource")
        await self.told.until(lambda note: note.method == "notifications/resources/updated")
        await self.client.unsubscribe_resource(WATCHED)
        await self.text("test_touch_resource")
        await self.client.list_resource_templates(cache_mode="bypass")
        assert not [note for note in self.told.seen if note.method == "notifications/resources/updated"]

    async def prompts(self):
        names = [prompt.name for prompt in await self.pages(self.client.list_prompts, "prompts")]
        has(names, "test_prompt_with_arguments")
        given = await self.client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
        is_(given.messages[0].content.text, "Prompt with arguments: arg1='a', arg2='b'")

    async def prompt_content(self):
        given = await self.client.get_prompt("test_prompt_with_image")
        is_([message.content.type for message in given.messages], ["image", "text"])
        given = await self.client.get_prompt("test_prompt_with_embedded_resource", {"resourceUri": "test://static-text"})
        is_(given.messages[0].content.type, "resource")

    async def completion(self):
        reference = types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
        given = await self.client.complete(reference, {"name": "arg1", "value": "par"})
        is_(given.completion.values, ["paris", "park", "party"])

    async def sampling(self):
        has(await self.text("test_sampling", prompt="hello"), "a model's answer to hello")

    async def form(self):
        said = await self.text("test_elicitation", message="Who are you?")
        has(said, "action=Accept")
        has(said, "my username")

    async def page(self):
        is_(await self.text("test_elicitation_url"), "The user chose Accept")

    async def roots(self):
        has(await self.text("test_input_required_result_list_roots"), "file:///work")

    async def several(self):
        has(await self.text("test_input_required_result_multiple_inputs"), "Accept")

    async def roots_changed(self):
        if self.is_newest:
            known = types.methods.CLIENT_NOTIFICATIONS
            lacks("the revision has no such message", ("notifications/roots/list_changed", NEWEST) not in known)
        await self.client.send_roots_list_changed()
        is_(await self.text("test_roots_changed"), "other roots")

    async def change(self, tool, method, wish, event):
        """Lets a list change and waits until that is told."""
        if self.is_newest:
            async with self.client.listen(**{wish: True}) as events:
                await self.text(tool)
                is_(type(await anext(events)), event)
            return
        await self.text(tool)
        await self.told.until(lambda note: note.method == method)

    async def tools_changed(self):
        method = "notifications/tools/list_changed"
        await self.change("test_trigger_tool_change", method, "tools_list_changed", ToolsListChanged)

    async def prompts_changed(self):
        method = "notifications/prompts/list_changed"
        await self.change("test_trigger_prompt_change", method, "prompts_list_changed", PromptsListChanged)

    async def resources_changed(self):
        method = "notifications/resources/list_changed"
        await self.change("test_trigger_resource_change", method, "resources_list_changed", ResourcesListChanged)

    async def listen(self):
        if not self.is_newest:
            try:
                async with self.client.listen(tools_list_changed=True):
                    raise AssertionError("the subscription was accepted")
            except ListenNotSupportedError:
                lacks("only 2026-07-28 has it", True)
        async with self.client.listen(tools_list_changed=True, resource_subscriptions=[WATCHED]) as events:
            assert events.honored.tools_list_changed
            is_(events.honored.resource_subscriptions, [WATCHED])
            # Calls go on concurrently, and a second one does not disturb the first.
            async with self.client.listen(prompts_list_changed=True) as others:
                await self.text("test_trigger_prompt_change")
                is_(type(await anext(others)), PromptsListChanged)
            await self.text("test_trigger_tool_change")
            is_(type(await anext(events)), ToolsListChanged)

    async def tasks(self):
        own = [name for name in dir(self.client.session) if "task" in name and not name.startswith("_")]
        lacks("it has no methods for tasks", not own)

    async def resumption(self):
        if self.report.transport != "http":
            lacks("only streams of Streamable HTTP are resumed", True)
        if self.is_newest:
            lacks("the revision has no resumption", True)
        is_(await self.text("test_reconnection"), "Reconnection test completed successfully")

    async def headers(self):
        if not self.is_newest or self.report.transport == "stdio":
            lacks("only HTTP of 2026-07-28 repeats arguments in headers", True)
        is_(await self.text("test_custom_header", value="grün & blau"), "Got grün & blau")

    def features(self):
        return {
            "open": self.open,
            "ping": self.ping,
            "tools": self.tools,
            "call": self.call,
            "content": self.content,
            "structured": self.structured,
            "failure": self.failure,
            "refusal": self.refusal,
            "progress": self.progress,
            "cancellation": self.cancellation,
            "logging": self.logging,
            "resources": self.resources,
            "templates": self.templates,
            "subscription": self.subscription,
            "prompts": self.prompts,
            "prompt content": self.prompt_content,
            "completion": self.completion,
            "sampling": self.sampling,
            "form": self.form,
            "page": self.page,
            "roots": self.roots,
            "several": self.several,
            "roots changed": self.roots_changed,
            "tools changed": self.tools_changed,
            "prompts changed": self.prompts_changed,
            "resources changed": self.resources_changed,
            "listen": self.listen,
            "tasks": self.tasks,
            "resumption": self.resumption,
            "headers": self.headers,
        }
