"""Pictures of records and of launches. Every function draws on the Axes `ax` and returns it.

The caller writes the title: one plain sentence that the picture shows.
"""

from helpers.plotting.cells import Cells, cells
from helpers.plotting.launches import grid_picture, halo, timeline
from helpers.plotting.memory import access_map, bank_conflicts
from helpers.plotting.resources import resource_bars
from helpers.plotting.rooflines import roofline
from helpers.plotting.styles import COLOURS, caption, finish, style, subplots
from helpers.plotting.timings import ladder, scaling, speedup, times
