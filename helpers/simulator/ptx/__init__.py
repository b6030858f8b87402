"""Translates PTX to programs for the machine: parses, lowers, finds joins, allocates slots, and
encodes.
"""

from .encode import BUILTINS, FUNCTION_ADDRESS, INSTRUCTION, Encoding, Program, Relocation
from .parse import Module, ParseError, Place, Variable
from .rows import Unsupported

__all__ = [
    "BUILTINS", "FUNCTION_ADDRESS", "INSTRUCTION", "Encoding", "Module", "ParseError", "Place",
    "Program", "Relocation", "Unsupported", "Variable",
]
