"""Lab 503: a program of a Triton kernel, and the choice of a tool."""

from __future__ import annotations

LAB = "503_what_would_you_use"
