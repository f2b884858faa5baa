"""Calls that go on as tasks: their states, and their results until they are asked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ._wire import CallToolResponse, CreateTaskResponse, Envelope, TaskStatusResponse
from .context import BaseContext

MAX_ENDED = 1000
"""The ended tasks whose results are kept; those that have failed or were cancelled go first."""
LIFETIME = 3600.0
"""Seconds after its end in which a result is forgotten."""
GRACE = 0.01
"""Seconds that an async handler has to answer before its call becomes a task."""


class Task:
    """A call that has become a task, or can become one. The task has the id of the call."""

    __slots__ = ("context", "ended_at", "id", "message", "response", "state")

    def __init__(self, id: str, context: BaseContext) -> None:
        self.id = id
        self.context = context
        self.state = ""
        self.message = ""
        self.response: CallToolResponse | None = None
        self.ended_at = 0.0

    def status(self) -> TaskStatusResponse:
        return TaskStatusResponse(self.id, self.state, message=self.message)


class Tasks:
    """The tasks of the process."""

    def __init__(self, send: Callable[[Envelope], None]) -> None:
        self._send = send
        self._tasks: dict[str, Task] = {}
        self._lock = threading.Lock()

    def offer(self, task: Task) -> Callable[[], bool]:
        """Returns the function that makes the call a task."""

        def begin() -> bool:
            with self._lock:
                if task.state or task.context.is_cancelled():
                    return bool(task.state)
                task.state = "running"
                self._tasks[task.id] = task
                self._forget()
            self._send(Envelope("create_task", CreateTaskResponse(task.id), task.id))
            return True

        return begin

    def end(self, task: Task, response: CallToolResponse, failure: str = "") -> bool:
        """Keeps the response if the call is a task; otherwise it is the caller's to send."""
        with self._lock:
            if not task.state:
                # From here on it cannot become one.
                task.state = "answered"
                return False
            if task.state == "running":
                task.state = "failed" if failure else "completed"
                task.message = failure
                task.response = response
                task.ended_at = time.monotonic()
            return True

    def status(self, id: str) -> TaskStatusResponse:
        with self._lock:
            task = self._tasks.get(id)
            return task.status() if task else TaskStatusResponse(id, "failed", message="there is no such task")

    def cancel(self, id: str) -> TaskStatusResponse:
        with self._lock:
            task = self._tasks.get(id)
            if task and task.state == "running":
                task.state, task.ended_at = "cancelled", time.monotonic()
        if task:
            task.context._set_cancelled()
        return self.status(id)

    def take(self, id: str) -> CallToolResponse | None:
        """The result, once."""
        with self._lock:
            task = self._tasks.get(id)
            if task is None or task.response is None:
                return None
            del self._tasks[id]
            return task.response

    def _forget(self) -> None:
        """Forgets old tasks, and if there are too many, those without a result, then those that ended first."""
        limit = time.monotonic() - LIFETIME
        ended = [each for each in self._tasks.values() if each.ended_at]
        ended.sort(key=lambda each: (each.ended_at > limit, each.state == "completed", each.ended_at))
        surplus = len(ended) - MAX_ENDED
        for place, each in enumerate(ended):
            if place < surplus or each.ended_at <= limit:
                del self._tasks[each.id]
