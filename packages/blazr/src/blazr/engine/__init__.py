"""The engine: one lane thread per loaded model, continuous batching, events to the event loop. Knows no HTTP."""

from blazr.engine.events import Completed, Event, Output, PromptDone, PromptToken, Usage
from blazr.engine.generation import Generation
from blazr.engine.lane import Lane
from blazr.engine.limits import LaneLimits
from blazr.engine.request import GenerationRequest
from blazr.engine.work import Work

__all__ = [
    "Completed",
    "Event",
    "Generation",
    "GenerationRequest",
    "Lane",
    "LaneLimits",
    "Output",
    "PromptDone",
    "PromptToken",
    "Usage",
    "Work",
]
