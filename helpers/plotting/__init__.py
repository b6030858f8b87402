"""Pictures of records and of launches. Every function draws on the Axes it is given and returns it.

Titles are the caller's: a title says what the picture shows to be so.
"""

from helpers.plotting.launches import grid_picture, halo, timeline
from helpers.plotting.memory import access_map, bank_conflicts, compare
from helpers.plotting.resources import resource_bars
from helpers.plotting.styles import COLOURS, caption, style
from helpers.plotting.timings import ladder, roofline, scaling, speedup, times

__all__ = [
    "COLOURS",
    "access_map",
    "bank_conflicts",
    "caption",
    "compare",
    "grid_picture",
    "halo",
    "ladder",
    "resource_bars",
    "roofline",
    "scaling",
    "speedup",
    "style",
    "timeline",
    "times",
]
