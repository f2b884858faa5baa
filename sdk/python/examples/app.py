"""A page next to the results of a tool (MCP Apps): pmcp dev app.py. Other hosts get the text.

A host that shows apps fills the page, a chart, with each result; the controls of the page call a tool that the model
does not see. A save of app.html shows without a new process.
"""

from dataclasses import dataclass
from pathlib import Path

from protomcp import App, AppOnly, ToolContext, tool

page = App("forecast", Path(__file__).with_name("app.html"), uri="ui://weather/forecast", prefers_border=True)


@dataclass
class Forecast:
    city: str
    day: int
    degrees: int
    shown: bool
    """True if the caller sees the page."""


@tool("Forecasts the weather of today.", app=page, read_only=True)
def forecast(city: str, ctx: ToolContext) -> Forecast:
    return Forecast(city, 0, 21, ctx.caller.shows_apps)


@tool("Forecasts the weather of a later day.", app=AppOnly(page), read_only=True)
def forecast_day(city: str, day: int, ctx: ToolContext) -> Forecast:
    return Forecast(city, day, 21 - day, ctx.caller.shows_apps)
