"""Results that programs can read: pmcp dev structured.py.

`output_type` describes the result to the host, `structured_content` is the result. pmcp advertises the description once a
result has matched it (--output-schema always advertises it immediately).
"""
from dataclasses import dataclass

from protomcp import ToolResult, tool


@dataclass
class Forecast:
    city: str
    degrees: int


@tool("Forecasts the weather.", output_type=Forecast, read_only=True, title="Weather forecast")
def forecast(city: str) -> ToolResult:
    return ToolResult(result=f"21 degrees in {city}", structured_content={"city": city, "degrees": 21})
