"""Results that programs can read: pmcp dev structured.py. The type of the result is its schema."""

from dataclasses import dataclass

from protomcp import tool


@dataclass
class Forecast:
    city: str
    degrees: int


@tool("Forecasts the weather.", title="Weather forecast", read_only=True)
def forecast(city: str) -> Forecast:
    return Forecast(city, 21)
