"""The plan of a handler: its input, its output, and the chain around it."""

from __future__ import annotations

from . import _registry, discovery
from ._input import Input
from ._output import Output
from ._signature import is_async, is_generator, place_of
from ._types import Types
from ._typing import TYPE_CHECKING
from .context import ToolContext, context_as
from .errors import DeclarationError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._dependencies import Dependencies
    from .local_middleware import Next


class Plan:
    """The plan of a tool. `cost` is the recent time of one call in seconds, None before the first."""

    __slots__ = (
        "chain",
        "concurrent",
        "context_class",
        "cost",
        "dependencies",
        "handler",
        "has_tasks",
        "input",
        "is_async",
        "is_listed",
        "name",
        "output",
        "resolves",
    )

    def __init__(
        self,
        name: str,
        handler: Callable[..., Any],
        output_type: Any = None,
        *,
        concurrent: bool | None = None,
        tool: str = "",
        is_listed: bool = False,
    ) -> None:
        # True if clients see the schema of this input, and the bridge compares the arguments of each call with it.
        self.is_listed = is_listed and not _registry.local_middleware()
        try:
            self._fill(name, handler, output_type, concurrent)
        except DeclarationError as error:
            raise DeclarationError(f"{place_of(handler)}: tool {tool or name!r}: {error}") from None

    def _fill(self, name: str, handler: Callable[..., Any], output_type: Any, concurrent: bool | None) -> None:
        contexts = _registry.contexts()
        exposed = {each.param_name for each in contexts if each.expose}
        self.name = name
        self.handler = handler
        self.concurrent = discovery.all_overlap() if concurrent is None else concurrent
        self.has_tasks = False
        self.cost: float | None = None
        # The handlers of groups and workflows choose the function, and resolve the contexts for it.
        self.resolves = bool(contexts) and not getattr(handler, "resolves_contexts", False)
        self.input = Input(handler, exposed, {each.param_name for each in contexts} - exposed)
        self.dependencies: Dependencies | None = None
        if self.input.dependencies:
            from ._dependencies import Dependencies

            self.dependencies = Dependencies(self.input)
        hint = self.input.signature.returns if output_type is None else output_type
        self.output = Output(hint, Types(self.input.signature.scope, is_output=True), is_kept=output_type is None)
        wraps = _registry.local_middleware()
        if is_generator(handler):
            raise DeclarationError("it yields, and a call has one result: return a list")
        self.is_async = is_async(handler) or any(is_async(each.handler) for each in wraps)
        if self.dependencies and self.dependencies.is_async and not is_async(handler):
            raise DeclarationError("it depends on an async function, so it has to be async itself")
        # A handler that asks for no context has one, too: for its log messages, and for middleware.
        self.context_class: Any = self.input.context_type or ToolContext
        self.chain: Next = self._call
        if wraps:
            from .local_middleware import wrap

            self.chain = wrap(name, self._call)

    def prepare(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments with the values of the server's contexts."""
        if self.resolves:
            from .server_context import resolve_contexts

            values = resolve_contexts(arguments)
            for name in self.input.injected:
                if name in values:
                    arguments[name] = values[name]
        return arguments

    def _call(self, ctx: Any, arguments: dict[str, Any]) -> Any:
        """The innermost function: converts the arguments and calls the handler."""
        found = self.input
        patterns = not (self.is_listed and getattr(ctx, "_arguments_match", False))
        values = found.load(self.name, arguments, patterns=patterns)
        if found.context_name:
            values[found.context_name] = context_as(ctx, found.context_type)
        if self.dependencies is None:
            return found.call(**values)
        if is_async(self.handler):
            return self.dependencies.call_async(found.call, values, ctx)
        return self.dependencies.call(found.call, values, ctx)


class PlanCache:
    """The plan that `make` makes, made anew after each change of a registry."""

    __slots__ = ("_make", "_plan", "_revision")

    def __init__(self, make: Callable[[], Plan]) -> None:
        self._make = make
        self._plan: Plan | None = None
        self._revision = -1

    def __call__(self) -> Plan:
        if self._plan is None or self._revision != _registry.revision:
            cost = self._plan.cost if self._plan else None
            self._plan, self._revision = self._make(), _registry.revision
            self._plan.cost = cost
        return self._plan
