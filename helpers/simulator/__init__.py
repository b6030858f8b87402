"""Runs CUDA kernels on the CPU, finds their faults, and counts their memory traffic.

`activate()` lets `import pycuda` find the simulator. `check` and `profile` always run their launch
in the simulator, also on a computer with a GPU.

NVIDIA's own compiler translates a source to PTX. The machine (machine/*.cpp) executes the PTX, a
warp of 32 lanes at a time. `helpers.simulator.launch` lists what the machine models and what it
does not. It has no clock, so it never reports how long a kernel takes.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Mapping, Sequence

import numpy as np

from . import instructions, memory
from .arrays import declaration, pack_arguments
from .comparison import ProfileComparison, compare
from .compiler import Parameter
from .faults import LaunchFault, LaunchRefused
from .findings import Finding, leaked
from .launch import CHECKS, Extents, LaunchReport, extents
from .launch import launch as run_launch
from .machine_counters import profile_of
from .module import Kernel, Module, UnknownKernel, load
from .profile import LineTraffic, Profile, Request
from .toolchain import CompileFailed

__all__ = [
    "CompileFailed", "Finding", "LineTraffic", "Profile", "ProfileComparison", "Request",
    "activate", "check", "compare", "execute", "leaks",
    "profile", "turns",
]  # fmt: skip


def activate(report_leaks: bool = False) -> None:
    """Makes `import pycuda.driver`, `pycuda.compiler`, `pycuda.gpuarray` ... find the simulator.

    report_leaks: at the end of the program, delete its variables and print the device memory that
    is still allocated to standard error: one finding ("leak") for each line that allocated some.
    Raises RuntimeError if the program has already imported the real PyCUDA.
    """
    from . import pycuda_api

    pycuda_api.install()
    if report_leaks:
        atexit.register(_report_leaks)


def leaks() -> tuple[Finding, ...]:
    """Returns one finding for each line of the program that allocated device memory and has not
    freed it.
    """
    gc.collect()
    return leaked(memory.live())


def _report_leaks() -> None:
    main = vars(sys.modules["__main__"])
    for name in [name for name in main if not name.startswith("__")]:
        # The interpreter would delete the variables next. An array that one holds is no leak.
        del main[name]
    for finding in leaks():
        print(finding, file=sys.stderr)


def profile(
    source: str,
    name: str,
    *args,
    grid: Sequence[int],
    block: Sequence[int],
    shared: int = 0,
    options: Sequence[str] = (),
    constants: Mapping[str, np.ndarray] | None = None,
    watch: tuple[tuple[int, int, int], int] = ((0, 0, 0), 0),
    sample_every: int = 1,
    outputs: Sequence[str] | None = None,
    time_limit: float | None = None,
) -> Profile:
    """Runs kernel `name` of CUDA `source` once, and returns its counters and findings.

    args: NumPy arrays (they are copied to the device, and copied back unless a finding stops the
    launch), NumPy scalars, or device allocations of the simulator; grid, block: up to three
    extents; shared: bytes of dynamic shared memory; options: options of nvcc, such as -D...;
    constants: values for `__constant__` symbols; watch: (block, warp) whose requests
    `Profile.requests` lists one by one; sample_every: run every n-th block only (the result says
    so); outputs: as for `check`; time_limit: seconds.

    Raises CompileFailed, TypeError or ValueError for arguments that do not fit the kernel, and
    faults.LaunchRefused.
    """
    observe = (*CHECKS, "traffic", "instructions")
    constants = constants or {}
    launched = _launch(
        source,
        name,
        args,
        grid,
        block,
        shared,
        options,
        constants,
        observe,
        watch,
        sample_every,
        time_limit,
        outputs,
    )
    return profile_of(*launched, shared)


def turns(
    source: str,
    name: str,
    *args,
    grid: Sequence[int],
    block: Sequence[int],
    options: Sequence[str] = (),
    constants: Mapping[str, np.ndarray] | None = None,
    time_limit: float | None = None,
) -> int:
    """Counts how often warps turn the loops of a kernel in one launch, as the source writes them:
    before the compiler unrolls any.

    The arguments are those of `profile`; the arrays stay unchanged. Raises
    instructions.NoSourceForm if no translation keeps the loops.
    """
    args = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
    observe, constants, watch = ("instructions",), constants or {}, ((0, 0, 0), 0)
    report, kernel, *_ = _launch(
        source,
        name,
        args,
        grid,
        block,
        0,
        options,
        constants,
        observe,
        watch,
        1,
        time_limit,
        (),
        as_written=True,
    )
    return instructions.backward_branches(kernel.counted, report.executed)


def execute(
    source: str,
    name: str,
    *args,
    grid: Sequence[int],
    block: Sequence[int],
    options: Sequence[str] = (),
    constants: Mapping[str, np.ndarray] | None = None,
    sample_every: int = 1,
    time_limit: float | None = None,
) -> None:
    """Runs one launch for its outputs alone: without counters, and without a look for races or for
    elements that nobody has written. A fault or a time limit ends it, and says nothing.

    The arguments are those of `profile`, and so are the exceptions.
    """
    observe, constants, watch = ("bounds", "barriers"), constants or {}, ((0, 0, 0), 0)
    _launch(
        source,
        name,
        args,
        grid,
        block,
        0,
        options,
        constants,
        observe,
        watch,
        sample_every,
        time_limit,
        (),
    )


def check(
    source: str,
    name: str,
    *args,
    grid: Sequence[int],
    block: Sequence[int],
    shared: int = 0,
    options: Sequence[str] = (),
    constants: Mapping[str, np.ndarray] | None = None,
    outputs: Sequence[str] | None = None,
    time_limit: float | None = None,
) -> tuple[Finding, ...]:
    """Runs one launch as `profile` does, without counting, and returns its findings: an empty tuple
    if it has no fault.

    outputs: names of the pointer parameters whose arrays the kernel must write completely. These
    arrays start as fresh device memory, whatever the NumPy arrays hold. Reading an element before
    it is written is a finding, and so is an element that is never written.
    Without `outputs`, the outputs are the arrays of floats that hold only NaN and whose parameter
    is not const.
    A launch that a GPU would refuse is a finding ("resources"). Otherwise `check` raises the
    exceptions that `profile` raises.
    """
    watch = ((0, 0, 0), 0)
    observe, constants = CHECKS, constants or {}
    try:
        report, *_ = _launch(
            source,
            name,
            args,
            grid,
            block,
            shared,
            options,
            constants,
            observe,
            watch,
            1,
            time_limit,
            outputs,
        )
    except LaunchRefused as refusal:
        return (refusal.finding,)
    return report.findings


def _launch(
    source,
    name,
    args,
    grid,
    block,
    shared,
    options,
    constants,
    observe,
    watch,
    sample_every,
    time_limit,
    outputs,
    as_written=False,
) -> tuple[LaunchReport, Kernel, Extents, Extents]:
    plain = name.partition("<")[0].rpartition("::")[2]  # of "layers::scale<4>"
    module = load(source, tuple(options), file=f"{plain}.cu")
    try:
        try:
            kernel = module.kernels[name]
            if as_written:
                if kernel.rehearsal is None:
                    raise instructions.NoSourceForm(
                        f"there is no translation of {name} that keeps the loops of its source"
                    )
                kernel = kernel.rehearsal
        except UnknownKernel as error:
            raise ValueError(str(error)) from None
        grid, block = extents(grid), extents(block)
        _set_constants(module, constants)
        with _Arguments(kernel, args, outputs) as packed:
            try:
                report = run_launch(
                    kernel, packed.buffer, grid, block, shared, observe,
                    outputs=packed.outputs, watch=watch, sample_every=sample_every,
                    time_limit=time_limit,
                )  # fmt: skip
                packed.copy_back()
            except LaunchFault as fault:
                report = fault.report
        return report, kernel, grid, block
    finally:
        module.close()


def _set_constants(module: Module, constants: Mapping[str, np.ndarray]) -> None:
    for symbol, value in constants.items():
        symbols = module.globals
        if symbol not in symbols:
            raise ValueError(
                f"this source has no constant {symbol!r}: it has {', '.join(symbols) or 'none'}"
            )
        value = np.ascontiguousarray(value)
        if value.nbytes != symbols[symbol].nbytes:
            raise ValueError(
                f"constant {symbol!r} has {symbols[symbol].nbytes} bytes, but its value has "
                f"{value.nbytes} ({value.dtype}, shape {value.shape}): give an array of "
                f"{symbols[symbol].nbytes} bytes"
            )
        memory.write(symbols[symbol].address, value, value.nbytes)


class _Arguments:
    """Arguments on the device for one launch: arrays are copied there and freed afterwards."""

    def __init__(self, kernel: Kernel, args: tuple, outputs: Sequence[str] | None = None):
        expected = ", ".join(map(declaration, kernel.parameters))
        if len(args) != len(kernel.parameters):
            raise TypeError(
                f"{kernel.name}({expected}) takes {len(kernel.parameters)} arguments, but the "
                f"launch gives {len(args)}"
            )
        pointers = [p.name for p in kernel.parameters if p.is_pointer]
        if unknown := [name for name in outputs or () if name not in pointers]:
            known = ", ".join(pointers) or "none"
            raise ValueError(
                f"outputs names {', '.join(unknown)}; the pointers of {kernel.name} are {known}"
            )
        self._kernel, self._args, self._named = kernel, args, outputs
        self.outputs: list[int] = []
        self._copies: list[tuple[int, np.ndarray]] = []

    def __enter__(self) -> _Arguments:
        try:
            parameters = self._kernel.parameters
            values = [
                self._bytes_of(parameter, value)
                for parameter, value in zip(parameters, self._args, strict=True)
            ]
            self.buffer = pack_arguments(parameters, values)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_) -> None:
        for address, _array in self._copies:
            memory.free(address)
        self._copies.clear()

    def copy_back(self) -> None:
        for address, array in self._copies:
            if array.flags.writeable:
                memory.read(array, address, array.nbytes)

    def _bytes_of(self, parameter: Parameter, value) -> bytes:
        what = f"argument {parameter.name!r} of {self._kernel.name} ({declaration(parameter)})"
        if parameter.is_pointer:
            address = self._pointer(what, value, self._is_output(parameter, value))
            return address.to_bytes(8, "little")
        if not isinstance(value, np.generic):
            raise TypeError(
                f"{what} needs a NumPy scalar such as numpy.int32(7), got {value!r} "
                f"({type(value).__name__})"
            )
        if value.nbytes != parameter.size or (value.dtype.kind == "f") != parameter.is_floating:
            raise TypeError(
                f"{what} has {parameter.size} bytes, so {value!r} ({value.dtype}) does not fit: "
                f"give a NumPy scalar of the parameter's type"
            )
        return value.tobytes()

    def _is_output(self, parameter: Parameter, value) -> bool:
        if self._named is not None:
            return parameter.name in self._named
        return (
            isinstance(value, np.ndarray)
            and not parameter.is_const
            and value.dtype.kind == "f"
            and bool(np.isnan(value).all())
        )

    def _pointer(self, what: str, value, is_output: bool) -> int:
        if not isinstance(value, np.ndarray):
            try:
                return int(value)
            except (TypeError, ValueError):
                raise TypeError(
                    f"{what} needs a NumPy array or a device allocation, got {type(value).__name__}"
                ) from None
        if not value.flags.c_contiguous:
            raise ValueError(
                f"{what} needs a C-contiguous array: pass numpy.ascontiguousarray(...) "
                f"(shape {value.shape}, strides {value.strides})"
            )
        if value.size == 0:
            raise ValueError(f"{what} got an empty array: give one with at least one element")
        address = memory.allocate(value.nbytes)
        self._copies.append((address, value))
        if is_output:
            self.outputs.append(address)
        else:
            memory.write(address, value, value.nbytes)
        return address
