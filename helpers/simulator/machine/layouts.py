"""Compares the numbers in a C type with those in a NumPy array or scalar.

A layout is the text that the debug information gives: NumPy's code of each number and its offset in
bytes, "f4@0 f4@4" for a float2. It is "" where the numbers are not known, such as those of a union.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from helpers.quantities import quantity

_INTEGERS = "iub"

Numbers = tuple[tuple[int, str], ...]  # offset in bytes and code, such as (4, "f4")


@lru_cache(maxsize=1024)
def numbers_in(layout: str) -> Numbers:
    """Return offset and code of each number of a layout."""
    parts = (part.partition("@") for part in layout.split())
    return tuple((int(offset), code) for code, _, offset in parts)


def only_dtype(layout: str) -> np.dtype | None:
    """Return the dtype of a layout of one number, None for any other."""
    numbers = numbers_in(layout)
    return np.dtype(numbers[0][1]) if len(numbers) == 1 else None


def misfit_of_array(dtype: np.dtype, shape: Sequence[int], layout: str, nbytes: int) -> str:
    """Return why an array does not fit a pointer, and what to do, "" if it fits.

    layout, nbytes: of the type that the pointer points to; 0 bytes stand for void and for an
    unknown type, which take every array of numbers.
    """
    if problem := _unusable(dtype, layout):
        return problem
    expected = numbers_in(layout)
    if not nbytes or (_is_bytes(dtype) and (dtype.itemsize in (1, nbytes) or nbytes == 1)):
        return ""
    if dtype.names or not expected or not _alike(expected, nbytes):
        problem = _misfit_of_structure(dtype, expected, nbytes)
        return f"points to {problem}" if problem else ""
    if _is_bits_of_half2(dtype, expected):
        return ""
    lanes, given = len(expected), tuple(_numbers_of(dtype))
    element = np.dtype(expected[0][1])
    if not given or not _same(given[0][1], expected[0][1]):
        return _other_numbers(dtype, element, lanes, bool(given))
    if len(given) > 1 and lanes % len(given):
        real = numpy_name(element)
        return f"points to {_wanted(expected, nbytes)}, got {_array(dtype)}: pass .view({real})"
    if shape and 1 < shape[-1] <= 4 and len(given) == 1 and _crosses(shape[-1], lanes):
        return (
            f"points to {_wanted(expected, nbytes)}, got an array of shape {tuple(shape)}, whose "
            f"last axis has {shape[-1]}: give each element {lanes}, or pass .reshape(-1) for a "
            "flat array"
        )
    return ""


def misfit_of_record(dtype: np.dtype, layout: str, nbytes: int) -> str:
    """Return why a structured value does not fit a parameter of this layout and of `nbytes`, and
    what to do, "" if it fits.
    """
    if problem := _unusable(dtype, layout):
        return problem
    problem = _misfit_of_structure(dtype, numbers_in(layout), nbytes)
    return f"takes {problem}" if problem else ""


def misfit_of_value(value: np.generic, layout: str, nbytes: int, is_floating: bool) -> str:
    """Return why a NumPy scalar does not fit a parameter of this layout and of `nbytes`, and what
    to do, "" if it fits.
    """
    dtype, expected = value.dtype, numbers_in(layout)
    if dtype.names:
        return misfit_of_record(dtype, layout, nbytes)
    hint = f"give {_example(expected, nbytes)}"
    if not dtype.isnative or dtype.hasobject:
        return _unusable(dtype, layout)
    if value.nbytes != nbytes:
        return f"has {quantity(nbytes, 'byte')}, so {value!r} ({dtype}) does not fit: {hint}"
    given = tuple(_numbers_of(dtype))
    if _is_bits_of_half2(dtype, expected):
        return ""
    if expected and given and not _is_bytes(dtype):
        fits = len(given) == len(expected) and all(
            here == there and _same(code, other)
            for (here, code), (there, other) in zip(given, expected, strict=True)
        )
    else:
        fits = (dtype.kind == "f") == is_floating and dtype.kind not in "mMU"
    return "" if fits else f"is of another type, so {value!r} ({dtype}) does not fit: {hint}"


def _unusable(dtype: np.dtype, layout: str) -> str:
    wanted = only_dtype(layout)
    name = numpy_name(wanted) if wanted is not None else "a dtype of numbers"
    if dtype.hasobject:
        return (
            "cannot take the dtype object: its elements are addresses of Python objects, not "
            f"numbers; convert with .astype({name})"
        )
    if not dtype.isnative:
        return (
            f"cannot take the byte order of {dtype.str if not dtype.names else 'these fields'}: a "
            "GPU reads numbers with their lowest byte first; convert with "
            '.astype(x.dtype.newbyteorder("="))'
        )
    return ""


def _misfit_of_structure(dtype: np.dtype, expected: Numbers, nbytes: int) -> str:
    """Return the problem of an array where the pointer or the array has structures."""
    given = tuple(_numbers_of(dtype))
    if not dtype.names:
        if dtype.kind in _INTEGERS and dtype.itemsize == 1:
            return ""  # the bytes of the structures
        if not expected and nbytes % dtype.itemsize == 0:
            return ""
        return (
            f"{_wanted(expected, nbytes)}, got {_array(dtype)}: give a structured dtype of "
            f"{quantity(nbytes, 'byte')}, or pass .view(np.uint8) of an array that holds their "
            "bytes"
        )
    if dtype.itemsize != nbytes:
        padding = ", or make it with align=True" if dtype.itemsize < nbytes else ""
        view = (
            f": pass .view({numpy_name(np.dtype(expected[0][1]))}) of it"
            if len(expected) == 1
            else f": give its dtype {quantity(nbytes, 'byte')}{padding}"
        )
        return (
            f"{_wanted(expected, nbytes)}, got structures of {quantity(dtype.itemsize, 'byte')} "
            f"({_fields(dtype)}){view}"
        )
    if not expected or not given:
        return ""
    there = dict(given)
    for offset, code in expected:
        if offset not in there or not _same(there[offset], code):
            held = np.dtype(there[offset]).name if offset in there else "no number"
            return (
                f"{_wanted(expected, nbytes)}, got structures with {held} at byte {offset} "
                f"({_fields(dtype)}): give the fields the order and types of the C structure"
            )
    return ""


def _other_numbers(dtype: np.dtype, element: np.dtype, lanes: int, is_number: bool) -> str:
    each = "" if lanes == 1 else f"vectors of {lanes} "
    base = f"points to {each}{element.name}, got {_array(dtype)}"
    name = numpy_name(element)
    if element.itemsize == 1 and dtype.itemsize > 1:
        return f"{base}: convert with .astype({name}), or give its bytes by .view({name})"
    if is_number and dtype.itemsize == element.itemsize:
        return (
            f"{base}, and would take its bits for other numbers: convert with .astype({name}), or "
            f"say that you mean the bits by .view({name})"
        )
    return f"{base}: convert with .astype({name})"


def _numbers_of(dtype: np.dtype, start: int = 0) -> Iterator[tuple[int, str]]:
    """Yield offset and code of each number in an element of a dtype; nothing for bytes."""
    if dtype.names:
        for name in dtype.names:
            kind, offset = dtype.fields[name][:2]  # type: ignore[index]
            yield from _numbers_of(kind, start + offset)
    elif dtype.subdtype is not None:
        kind, shape = dtype.subdtype
        for k in range(int(np.prod(shape))):
            yield from _numbers_of(kind, start + k * kind.itemsize)
    elif dtype.kind == "c":
        half = dtype.itemsize // 2
        yield from ((start, f"f{half}"), (start + half, f"f{half}"))
    elif not _is_bytes(dtype):
        yield start, f"{dtype.kind}{dtype.itemsize}"


def _is_bytes(dtype: np.dtype) -> bool:
    return dtype.names is None and dtype.subdtype is None and dtype.kind in "SV"


def _alike(numbers: Numbers, nbytes: int) -> bool:
    """Return whether all numbers have one type and no gap between them, as in a float4."""
    size = np.dtype(numbers[0][1]).itemsize
    return len(numbers) * size == nbytes and all(
        _same(code, numbers[0][1]) and offset == k * size
        for k, (offset, code) in enumerate(numbers)
    )


def _same(given: str, expected: str) -> bool:
    """Return whether two codes are numbers of one kind and size; signed and unsigned ones, and
    bool, are integers. A half also takes uint16, in which programs keep its bits.
    """
    kinds = tuple("i" if code[0] in _INTEGERS else code[0] for code in (given, expected))
    alike = kinds[0] == kinds[1] and given[1:] == expected[1:]
    return alike or (given, expected) == ("u2", "f2")


def _is_bits_of_half2(dtype: np.dtype, expected: Numbers) -> bool:
    """Return whether it is a uint32 for a __half2: programs keep its bits so, as a half's in
    uint16.
    """
    return dtype == np.uint32 and expected == ((0, "f2"), (2, "f2"))


def _crosses(count: int, lanes: int) -> bool:
    return bool(lanes > 1 and lanes % count and count % lanes)


def numpy_name(dtype: np.dtype) -> str:
    """Return the name of a dtype of numbers in a program, such as np.float32."""
    return "np.bool_" if dtype.kind == "b" else f"np.{dtype.name}"


def _array(dtype: np.dtype) -> str:
    is_plain = dtype.kind != "V"
    return f"an array of {dtype.name if is_plain else quantity(dtype.itemsize, 'byte') + ' each'}"


def _fields(dtype: np.dtype) -> str:
    return ", ".join(f"{name} {dtype.fields[name][0]}" for name in dtype.names or ())  # type: ignore[index]


def _wanted(numbers: Numbers, nbytes: int) -> str:
    if len(numbers) == 1:
        return np.dtype(numbers[0][1]).name
    if numbers and _alike(numbers, nbytes):
        return f"vectors of {len(numbers)} {np.dtype(numbers[0][1]).name}"
    fields = ", ".join(f"{np.dtype(code).name} at {offset}" for offset, code in numbers)
    size = quantity(nbytes, "byte")
    return f"structures of {size}" + (f" ({fields})" if fields else "")


def _example(numbers: Numbers, nbytes: int) -> str:
    if len(numbers) == 1:
        return f"{numpy_name(np.dtype(numbers[0][1]))}(...)"
    return f"a NumPy record of {quantity(nbytes, 'byte')} with its fields"
