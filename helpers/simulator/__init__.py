"""Runs CUDA kernels on the CPU, and says what is wrong with them and what they do to memory.

`activate()` lets `import pycuda` find the simulator; `check` and `profile` run one launch under it,
whatever device is there.

NVIDIA's own compiler translates a source to PTX, which the machine executes a warp of 32 lanes at a
time.
What it models and what not is said in `helpers.simulator.launch`: it has no clock, so it never
tells a time of a kernel.
"""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Mapping, Sequence

import numpy as np

from . import instructions, memory
from .arrays import declaration, pack_arguments
from .compiler import Parameter
from .faults import LaunchFault, LaunchRefused
from .findings import Finding, leaked
from .launch import CHECKS, Extents, LaunchReport, extents
from .launch import launch as run_launch
from .module import Kernel, Module, UnknownKernel, load
from .profile import LineTraffic, Profile, ProfileComparison, Request, compare, profile_of
from .toolchain import CompileFailed

__all__ = [
    "CompileFailed", "Finding", "LineTraffic", "Profile", "ProfileComparison", "Request",
    "activate", "check", "compare", "leaks",
    "profile", "turns",
]  # fmt: skip


def activate(report_leaks: bool = False) -> None:
    """Makes `import pycuda.driver`, `pycuda.compiler`, `pycuda.gpuarray` ... find the simulator.

    report_leaks: when the program ends, its variables are let go, and device memory that is still
    allocated then is reported to standard error, one finding ("leak") for each line that allocated
    some. Raises RuntimeError when the real PyCUDA has been imported already.
    """
    from . import pycuda_api

    pycuda_api.install()
    if report_leaks:
        atexit.register(_report_leaks)


def leaks() -> tuple[Finding, ...]:
    """Device memory that is allocated now and has not been freed, one finding for each line of the
    program that asked for some.
    """
    gc.collect()
    return leaked(memory.live())


def _report_leaks() -> None:
    main = vars(sys.modules["__main__"])
    for name in [name for name in main if not name.startswith("__")]:
        del main[name]  # as the interpreter is about to do: what a variable holds is no leak
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

    args: NumPy arrays (copied to the device; outputs are written back unless the launch was
    stopped), NumPy scalars, or device allocations of the simulator; grid, block: up to three
    extents; shared: bytes of dynamic shared memory; options: nvcc's, -D...; constants: values for
    `__constant__` symbols; watch: (block, warp) whose requests are kept one by one in
    `Profile.requests`; sample_every: run every n-th block only (the result says so); outputs: as
    for `check`; time_limit: seconds.

    Raises CompileFailed, TypeError or ValueError for arguments that do not fit,
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
    """How often the loops of a kernel turn in one launch, by warp, as its source has them: before
    the compiler unrolls any.

    Arguments as for `profile`; the arrays stay as they are. Raises instructions.NoSourceForm where
    no translation keeps the loops.
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
    """Runs one launch as `profile` does, without counting, and returns what is wrong with it: an
    empty tuple for a good one.

    outputs: names of the pointer parameters that the kernel must write wholly. Their arrays start
    as fresh device memory does, with nothing in them, whatever the NumPy arrays hold; an element
    that is read before it is written, or never written, is a finding.
    Without `outputs` these are the arrays of floats that hold nothing but NaN and whose parameter
    is not const.
    A launch that a GPU would refuse is a finding too ("resources"). Raises as `profile` does
    otherwise.
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
        known = module.globals
        if symbol not in known:
            raise ValueError(
                f"no constant {symbol!r} in this source: it has {', '.join(known) or 'none'}"
            )
        value = np.ascontiguousarray(value)
        if value.nbytes != known[symbol].nbytes:
            raise ValueError(
                f"constant {symbol!r} has {known[symbol].nbytes} bytes, the value given has "
                f"{value.nbytes} "
                f"({value.dtype}, shape {value.shape})"
            )
        memory.write(known[symbol].address, value, value.nbytes)


class _Arguments:
    """Arguments on the device for one launch: arrays are copied there and freed afterwards."""

    def __init__(self, kernel: Kernel, args: tuple, outputs: Sequence[str] | None = None):
        expected = ", ".join(map(declaration, kernel.parameters))
        if len(args) != len(kernel.parameters):
            raise TypeError(
                f"{kernel.name}({expected}) takes {len(kernel.parameters)} arguments, {len(args)} "
                "given"
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
                f"{what} needs a NumPy scalar such as numpy.int32(7), {value!r} "
                f"({type(value).__name__}) given"
            )
        if value.nbytes != parameter.size or (value.dtype.kind == "f") != parameter.is_floating:
            raise TypeError(
                f"{what} has {parameter.size} bytes, {value!r} ({value.dtype}) does not fit"
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
                    f"{what} needs a NumPy array or a device allocation, {type(value).__name__} "
                    "given"
                ) from None
        if not value.flags.c_contiguous:
            raise ValueError(
                f"{what} needs a C-contiguous array: pass numpy.ascontiguousarray(...) "
                f"(shape {value.shape}, strides {value.strides})"
            )
        if value.size == 0:
            raise ValueError(f"{what} was given an empty array")
        address = memory.allocate(value.nbytes)
        self._copies.append((address, value))
        if is_output:
            self.outputs.append(address)
        else:
            memory.write(address, value, value.nbytes)
        return address
