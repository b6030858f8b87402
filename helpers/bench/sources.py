"""A kernel as an experiment names it: a name of kernels/, with other sizes, changed, or a cell."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from helpers import kernel_cells, kernels
from helpers.launch import Launch, Plan
from helpers.simulator.compile.includes import without_comments

Changes = tuple[tuple[str, str], ...]  # pairs of the old text of a source and the new


class KernelError(ValueError):
    """A kernel that an experiment cannot use; the message says why, and what to give."""


@dataclass(frozen=True, repr=False)
class Kernel:
    """A kernel of a problem: the record of its launch, and the text that runs.

    label: its name in tables, figures and records. spec: the problem's record of the launch, such
    as a conv2d.Conv2d. settings: what distinguishes it from others of the same name, such as
    (("maps", 4),); a record has them as columns. text: CUDA in place of the file in kernels/;
    function: the name of its __global__ function. options: for nvcc, after those of the record.
    arguments: names of arrays and sizes in the order of the kernel's parameters, in place of the
    record's. yours: whether a student wrote it.
    """

    label: str
    spec: Any
    settings: tuple[tuple[str, Any], ...] = ()
    text: str = ""
    function: str = ""
    options: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    yours: bool = False

    @property
    def name(self) -> str:
        """The name of the kernel in kernels/ whose launch this is."""
        return str(self.spec.name)

    @property
    def title(self) -> str:
        """The label with the settings, such as "conv2d_tiled_maps, maps 4"."""
        return ", ".join([self.label, *(f"{key} {value}" for key, value in self.settings)])

    def __repr__(self) -> str:
        return self.title

    @property
    def source(self) -> str:
        """The CUDA text that runs."""
        return self.text or kernels.source(self.sources[-1])

    @property
    def place(self) -> str:
        """The name of the launch that its text takes: that of its function, or the last one."""
        return self.function if self.function in self.sources else self.sources[-1]

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the kernels that the record launches; the last one is the kernel itself."""
        return tuple(getattr(self.spec, "sources", (self.name,)))

    @property
    def is_ours(self) -> bool:
        """Whether it runs files of kernels/ as they are."""
        return not self.text and not self.yours

    @property
    def is_missing(self) -> bool:
        """Whether it is a student's whose %%kernel cell has not run, or did not compile."""
        return self.yours and not self.text

    def changed(self, *changes: str | tuple[str, str], label: str = "") -> Kernel:
        """Return the kernel with changed lines.

        changes: two texts, the old and the new one, or several such pairs. label: in place of the
        own one; give one where the change is timed. A student's kernel that is missing stays so.
        Raises KernelError where the source has no such text.
        """
        if self.is_missing:
            return self
        try:
            text = kernels.replaced(self.source, *_pairs(changes), name=self.label)
        except ValueError as error:
            raise KernelError(str(error)) from None
        function = self.function or self.sources[-1]
        new = dataclasses.replace(self, text=text, function=function)
        return new.named(label) if label else new

    def named(self, label: str) -> Kernel:
        """Return the kernel under another name, which says all: without the settings."""
        return dataclasses.replace(self, label=label, settings=())

    def rewritten(self, plan: Plan, values: Mapping[str, Any]) -> Plan:
        """Return the plan of the record with this kernel's text, options and arguments.

        values: the arrays and sizes that `arguments` can name.
        """
        if not (self.text or self.options or self.arguments):
            return plan
        names = [one.name for one in plan]
        place = self.place if self.place in names else names[-1]
        return tuple(self._instead(one, values) if one.name == place else one for one in plan)

    def _instead(self, one: Launch, values: Mapping[str, Any]) -> Launch:
        """Return this kernel's launch in place of the record's."""
        own = tuple(option for option in one.options if _is_declared(option, self.source))
        changes: dict[str, Any] = {"options": (*own, *self.options)}
        if self.text:
            changes |= {"source": self.text, "name": self.function}
            symbols = {s: v for s, v in one.constants.items() if _has_symbol(self.text, s)}
            changes["constants"] = symbols
            if not _has_dynamic_shared(self.text):
                changes["shared"] = 0  # its arrays of shared memory have sizes of their own
        if self.arguments:
            if missing := [name for name in self.arguments if name not in values]:
                raise KernelError(
                    f"{self.label} wants {missing[0]!r}; its arguments can be {', '.join(values)}"
                )
            changes["arguments"] = tuple(values[name] for name in self.arguments)
        return dataclasses.replace(one, **changes)


MISSING = "FAIL yours: its %%kernel cell has not run, or it does not compile. Run that cell first."


@dataclass(frozen=True)
class Missing:
    """A student's kernel that is not there yet: `yours` returns it in place of the cell."""

    name: str
    source: str = ""
    options: tuple[str, ...] = ()


def yours(name: str) -> Any:
    """Return what the %%kernel cell NAME has bound, so that no cell below fails without it.

    Where the cell has not run, or did not compile, it returns a kernel that is "yours: not yet".
    """
    from IPython import get_ipython

    shell = get_ipython()
    bound = {} if shell is None else shell.user_ns
    return bound.get(name) if kernel_cells.is_cell(bound.get(name)) else Missing(name)


def from_cell(cell: Any, spec: Any, of_the_record: Callable[[str], bool]) -> Kernel:
    """Return a student's cell with the launch of `spec`.

    of_the_record: whether the record itself sets the macro of this name; the others keep the
    values of the %%kernel line.
    """
    function = getattr(cell, "kernel", cell.name)
    kept = tuple(one for one in cell.options if not of_the_record(_macro(one)))
    return Kernel(
        label=f"yours: {cell.name}",
        spec=spec,
        text=cell.source,
        function=function if isinstance(function, str) else cell.name,
        options=kept,
        yours=True,
    )


def chosen(rows: Mapping[str, Any], name: str, what: str) -> Any:
    """Return the record of a kernel. Raises KernelError with the names that there are."""
    if name not in rows:
        raise KernelError(f"there is no {what} kernel {name!r}; choose from {', '.join(rows)}")
    return rows[name]


def sized(
    spec: Any, constants: Mapping[str, Any], names: Mapping[str, str]
) -> tuple[Any, dict[str, Any]]:
    """Return a record with other sizes, and the columns that name them in a record.

    names: for each constant, the field of the record. Raises KernelError for another constant.
    """
    for key in constants:
        if key not in names:
            raise KernelError(f"{spec.name} has no size {key!r}; it has {', '.join(names)}")
        require_alike(spec.name, key, constants[key], getattr(spec, names[key]))
    changes = {names[key]: value for key, value in constants.items()}
    settings = {key.lower(): value for key, value in constants.items()}
    return dataclasses.replace(spec, **changes), settings


def require_alike(kernel: str, name: str, value: Any, before: Any) -> None:
    """Raise KernelError for a size that is a number where the record has several, or the reverse,
    or that is no whole number.
    """
    def is_number(one: Any) -> bool:
        return isinstance(one, Integral) and not isinstance(one, bool)

    if is_number(before) and not is_number(value):
        wanted = f"a whole number, such as {before}"
    elif isinstance(before, tuple) and before and all(map(is_number, before)):
        if isinstance(value, tuple) and len(value) in (2, 3) and all(map(is_number, value)):
            return
        wanted = f"several whole numbers, such as {before}"
    else:
        return
    raise KernelError(f"{name} of {kernel} is {wanted}; got {value!r}")


def _pairs(changes: tuple) -> Changes:
    if len(changes) == 2 and all(isinstance(one, str) for one in changes):
        return (changes,)
    if not changes or not all(isinstance(one, tuple) and len(one) == 2 for one in changes):
        raise KernelError(
            'give the old text and the new one: kernel.changed("old", "new"), or several pairs'
        )
    return changes


def _macro(option: str) -> str:
    return option.removeprefix("-D").partition("=")[0]


def _is_declared(option: str, source: str) -> bool:
    """Return whether the source uses the macro of an option; any other option is kept."""
    if not option.startswith("-D"):
        return True
    return re.search(rf"\b{re.escape(_macro(option))}\b", source) is not None


def _has_dynamic_shared(text: str) -> bool:
    return re.search(r"\bextern\b[^;{\"]*__shared__", without_comments(text)) is not None


def _has_symbol(text: str, symbol: str) -> bool:
    """Return whether the text declares an array of this name that the host fills before a launch.
    """
    pattern = rf"(?:__constant__[^;]*|__device__[^;(){{}}]*)\b{re.escape(symbol)}\b"
    return re.search(pattern, without_comments(text)) is not None
