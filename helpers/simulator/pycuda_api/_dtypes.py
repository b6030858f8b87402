"""NumPy's dtypes, C's type names, and the arguments in a kernel's C declaration."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

import numpy as np


class TypeNameNotKnown(RuntimeError):
    """No dtype is registered for this C type name."""


_to_name: dict[np.dtype, str] = {}
_to_dtype: dict[str, np.dtype] = {}


def get_or_register_dtype(names: str | Sequence[str], dtype=None) -> np.dtype:
    """Return the dtype of C type names, and registers `dtype` under them if it is not None. Raises
    RuntimeError if a name has another dtype.
    """
    names = [names] if isinstance(names, str) else list(names)
    if dtype is None:
        try:
            (found,) = {_to_dtype[name] for name in names}
        except KeyError as error:
            raise TypeNameNotKnown(
                f"no dtype is registered for the C type {error}: use get_or_register_dtype(name, "
                "dtype)"
            ) from None
        return found
    dtype = np.dtype(dtype)
    for name in names:
        if _to_dtype.setdefault(name, dtype) != dtype:
            raise RuntimeError(f"the C type {name!r} is registered already, as {_to_dtype[name]}")
    _to_name.setdefault(dtype, names[0])
    return _to_dtype[_to_name[dtype]]


def register_dtype(dtype, c_names: str | Sequence[str], alias_ok: bool = False) -> None:
    """Register a dtype under C type names. PyCUDA deprecates it in favour of get_or_register_dtype.
    """
    warnings.warn(
        "register_dtype is deprecated: use get_or_register_dtype", DeprecationWarning, stacklevel=2
    )
    known = _to_name.get(np.dtype(dtype))
    if known is not None and not alias_ok:
        raise RuntimeError(f"dtype {np.dtype(dtype)} is registered already, as {known!r}")
    get_or_register_dtype(c_names, dtype)


def dtype_to_ctype(dtype, with_fp_tex_hack: bool = False) -> str:
    """Return the C name of a dtype. Raises ValueError if it has none."""
    if dtype is None:
        raise ValueError("a dtype is needed, None given")
    dtype = np.dtype(dtype)
    if with_fp_tex_hack and (
        name := {"f4": "float", "f8": "double", "c8": "cfloat", "c16": "cdouble"}.get(dtype.str[1:])
    ):
        return f"fp_tex_{name}"
    try:
        return _to_name[dtype]
    except KeyError:
        hint = "register it with pycuda.tools.get_or_register_dtype(name, dtype)"
        raise ValueError(f"no C type is known for dtype {str(dtype)!r}: {hint}") from None


class Argument:
    """One argument of a generated kernel."""

    struct_char: str

    def __init__(self, dtype, name: str):
        self.dtype = np.dtype(dtype)
        self.name = name

    def declarator(self) -> str:
        """Return the declaration in C."""
        raise NotImplementedError(
            f"{type(self).__name__} must define declarator(): use VectorArg or ScalarArg"
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.dtype})"


class VectorArg(Argument):
    """A pointer to numbers: `float *x`."""

    struct_char = "P"

    def declarator(self) -> str:
        return f"{dtype_to_ctype(self.dtype)} *{self.name}"


class ScalarArg(Argument):
    """A number: `float a`."""

    def __init__(self, dtype, name: str):
        super().__init__(dtype, name)
        self.struct_char = f"{self.dtype.itemsize}s" if self.dtype.char == "V" else self.dtype.char

    def declarator(self) -> str:
        return f"{dtype_to_ctype(self.dtype)} {self.name}"


_QUALIFIERS = re.compile(r"\b(?:const|volatile|restrict)\b|__restrict__")
_DECLARATOR = re.compile(
    r"(?P<stars>[\s*]*)\b(?P<name>[A-Za-z_]\w*)\s*(?P<extents>(?:\[[\s\w]*\]\s*)*)$"
)


def parse_c_arg(c_arg: str) -> VectorArg | ScalarArg:
    """Return the argument of a C declaration such as "const float *x"; raises ValueError if it
    cannot read the declaration.
    """
    text = _QUALIFIERS.sub(" ", c_arg).strip()
    found = _DECLARATOR.search(text)
    type_name = " ".join(text[: found.start()].split()) if found else ""
    if found is None or not type_name:
        raise ValueError(
            f"could not read the C declaration {c_arg!r}: it must be a type and a name, such as "
            "`float *x`"
        )
    if type_name not in _to_dtype:
        raise ValueError(
            f"no dtype is known for {type_name!r} in {c_arg!r}: register it with "
            "pycuda.tools.get_or_register_dtype(name, dtype)"
        )
    is_vector = "*" in found["stars"] or bool(found["extents"])
    return (VectorArg if is_vector else ScalarArg)(_to_dtype[type_name], found["name"])


def complex_include(*texts: str) -> str:
    """Return the #include that a kernel with complex numbers needs, "" for any other kernel."""
    return "#include <pycuda-complex.hpp>\n" if any("complex" in text for text in texts) else ""


def get_arg_type(c_arg: str) -> str:
    """Return the struct code of a C declaration; a pointer has "P"."""
    return parse_c_arg(c_arg).struct_char


def _register_c_types() -> None:
    def signed(kind: str) -> list[str]:
        return [kind, f"{kind} int", f"signed {kind}", f"signed {kind} int", f"{kind} signed int"]

    def unsigned(kind: str) -> list[str]:
        return [f"unsigned {kind}", f"unsigned {kind} int", f"{kind} unsigned int"]

    for names, dtype in (
        (["bool"], np.bool_),
        (["signed char", "char"], np.int8),
        (["unsigned char"], np.uint8),
        (signed("short"), np.int16),
        (unsigned("short"), np.uint16),
        (["int", "signed int", "signed"], np.int32),
        (["unsigned", "unsigned int"], np.uint32),
        (signed("long"), np.int64),
        (unsigned("long"), np.uint64),
        (["float"], np.float32),
        (["double"], np.float64),
        (["pycuda::complex<float>"], np.complex64),
        (["pycuda::complex<double>"], np.complex128),
    ):
        get_or_register_dtype(names, dtype)


_register_c_types()
