"""Modules: a compiled source with its kernels by name, and its variables in device memory."""

from __future__ import annotations

import ctypes
import linecache
import os.path
import re
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from helpers.quantities import quantity

from ..compile import compiler
from ..compile.compiler import Compiled, KernelInfo, Parameter, Variable
from ..compile.mangled import plain_name
from ..compile.toolchain import CompileFailed
from ..compile.toolkit import ToolkitMissingError
from ..machine.architecture import MAX_CONSTANT, MAX_STATIC_SHARED
from ..machine.faults import OutOfMemory
from ..machine.library import door, machine, operation_names
from ..ptx import gaps
from ..ptx.axes import Axis
from ..ptx.encode import Program
from ..ptx.parse import Variable as PtxVariable
from ..ptx.rows import LEFT_OUT
from . import assembly, encoded
from .source_places import SourcePlaces

_DEVICE, _CONSTANT = 0, 1  # kinds of halo_add_variable
_FOREIGN = 1 << 31
_SLOT_BYTES = 128  # of 32 lanes' values of 32 bits


class UnknownKernel(KeyError):
    """No kernel has this name, or more than one has."""

    def __str__(self) -> str:
        return self.args[0]


@dataclass(frozen=True)
class Global(Variable):
    """A `__constant__` or `__device__` variable; memory.write can write to its address."""

    address: int = 0


@dataclass(frozen=True, eq=False)
class Kernel:
    """A `__global__` function of a loaded module, or an instance of a template.

    name: its name in the source ("k", "ns::k", "k<4>"); mangled: the linker's name; line: the line
    of its definition, 0 if unknown; compiled: the PTX that has it, the module's own or that for
    rehearsals.
    The first use encodes it for the machine, and raises CompileFailed for an instruction that the
    machine cannot run.
    """

    name: str
    mangled: str
    parameters: tuple[Parameter, ...]
    line: int
    module: Module = field(repr=False)
    compiled: Compiled = field(repr=False)

    @cached_property
    def program(self) -> Program:
        """The kernel as the machine runs it, still without the module's addresses."""
        return encoded.encoded(self.compiled, self.mangled)

    def require_supported(self) -> None:
        """Raise CompileFailed, with file and line, if the machine cannot run the kernel."""
        _ = self.program

    @cached_property
    def relocated(self) -> Program:
        """The kernel with the addresses of this module's variables."""
        return encoded.relocated(self.program, self.module.addresses_for(self.compiled))

    @cached_property
    def counted(self) -> Program:
        """The same as `relocated`, for counting: it counts the accesses of the kernel's machine
        code, if ptxas and nvdisasm are installed.
        """
        program = encoded.encoded(self.compiled, self.mangled, counted=True)
        return encoded.relocated(program, self.module.addresses_for(self.compiled))

    @cached_property
    def rehearsal(self) -> Kernel | None:
        """The careful translation of the kernel, which keeps every access of the source; None if
        there is none.
        """
        compiled = self.module.careful
        if compiled is None:
            return None
        kernel = replace(self, compiled=compiled)
        try:
            kernel.require_supported()
        except (CompileFailed, KeyError):
            return None
        return kernel

    @cached_property
    def place_groups(self) -> np.ndarray:
        """A number for each place, uint32, shape (places,). Places that a reader of the source sees
        as one have the same number.

        The compiler's copies of a place, such as those of an unrolled loop, have one number. A
        place in a header of CUDA has the number of the call; bit 31 marks a place there without an
        inlined call around it.
        """
        files = {file for one in self.program.places for file, _ in (*one.inlined, one[:2])}
        own = {file for file in files if self.module.file_of(file) == self.module.compiled.file}
        numbers: dict[tuple, int] = {}
        groups = np.zeros(max(len(self.program.places), 1), np.uint32)
        for k, place in enumerate(self.program.places):
            call = next(((file, line) for file, line in place.inlined if file in own), None)
            is_own = place.file in own
            key = (place.file, place.line, place.column) if is_own or call is None else call
            groups[k] = numbers.setdefault(key, len(numbers)) | (0 if is_own or call else _FOREIGN)
        return groups

    @cached_property
    def resources(self) -> assembly.Resources | None:
        """The resources of a thread and a block by ptxas, from the PTX of nvcc; None if the
        assembler's wheel is not installed. Raises CompileFailed.
        """
        try:
            return assembly.resources(compiler.as_nvcc(self.module.compiled))[self.mangled]
        except ToolkitMissingError:
            return None

    @cached_property
    def stack_frames(self) -> Mapping[str, int]:
        """The bytes of a GPU's stack that each function takes, by its mangled name; empty if the
        assembler's wheel is not installed.
        """
        try:
            return assembly.stack_frames(self.module.compiled)
        except (ToolkitMissingError, CompileFailed):
            return {}

    @property
    def static_shared(self) -> int:
        """The bytes of static shared memory of a block, with those of the functions that the kernel
        calls.
        """
        return self.program.real_shared_bytes

    @cached_property
    def live_words(self) -> int:
        """The largest number of 32-bit words that one of its functions keeps at a time, before
        ptxas assigns registers.
        """
        return int(self.program.functions["frame_bytes"].max()) // _SLOT_BYTES

    @property
    def max_threads(self) -> int:
        """The limit of `__launch_bounds__`, 0 without one."""
        return self.program.most_threads

    @property
    def shared(self) -> tuple[tuple[Variable | str, int, int], ...]:
        """(variable, offset, bytes) of each static shared variable; a variable that the compiler
        does not describe is its symbol.
        """
        known = self.module.variables
        return tuple(
            (known.get(symbol, symbol), offset, nbytes)
            for symbol, offset, nbytes in self.program.shared
        )

    @property
    def dynamic(self) -> tuple[Variable, ...]:
        """The `extern __shared__` arrays of the kernel that the compiler describes."""
        arrays = [
            v
            for v in self.module.variables.values()
            if v.space == "shared" and v.extents[:1] == (0,)
        ]
        return (
            tuple(v for v in arrays if v.function in ("", self.mangled))
            if self.program.uses_dynamic
            else ()
        )

    @cached_property
    def places(self) -> SourcePlaces:
        """Where in the source its instructions are."""
        compiled = self.module.compiled
        return SourcePlaces(
            self.program, compiled.file, self.line, self.module.file_of, compiled.source
        )

    def operation_at(self, pc: int) -> str:
        """Return the name of the machine's operation at an instruction, "" if there is none."""
        if not 0 <= pc < len(self.program.instructions):
            return ""
        return operation_names()[self.program.instructions["operation"][pc]]

    def is_left_out(self, pc: int) -> bool:
        """Return whether an instruction stands for one that the machine does not run."""
        return (
            self.operation_at(pc) == "trap"
            and int(self.program.instructions["immediate"][pc]) == LEFT_OUT
        )

    def axis_at(self, pc: int) -> Axis:
        """Return the axis that the check at an instruction (row.check) checks."""
        return self.program.axes[int(self.program.instructions["immediate"][pc]) >> 32]


class Kernels(Mapping):
    """The kernels of a module by name.

    A key is a kernel's full name ("ns::k<4>") or its mangled name. If only one kernel fits, the
    name without namespaces or without template arguments is enough. Any other key raises
    UnknownKernel with the names of the module's kernels.
    """

    def __init__(self, kernels: Sequence[Kernel], templates: Sequence[str] = ()):
        names = [kernel.name for kernel in kernels]
        # Overloaded kernels share a name.
        self._kernels = {k.mangled if names.count(k.name) > 1 else k.name: k for k in kernels}
        self._templates = tuple(templates)

    def __len__(self) -> int:
        return len(self._kernels)

    def __iter__(self):
        return iter(self._kernels)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and len(self._find(name)) == 1

    def __getitem__(self, name: str) -> Kernel:
        kernels = self._find(name)
        if len(kernels) == 1:
            return kernels[0]
        if kernels:
            names = ", ".join(key for key, kernel in self._kernels.items() if kernel in kernels)
            raise UnknownKernel(
                f"{name!r} may be any of {names}: give the full or the mangled name"
            )
        plain = name.partition("<")[0].split("::")[-1]
        if plain in (t.split("::")[-1] for t in self._templates):
            raise UnknownKernel(
                f"{plain!r} is a template, but the source has no such instance of it: add one, "
                f"such as `template __global__ void {plain}<...>(...);`, after its definition, or "
                f"make it a __device__ function that a plain kernel calls"
            )
        names = ", ".join(self._kernels) or "none"
        raise UnknownKernel(f"no kernel {name!r} in this source: it has {names}")

    def _find(self, name: str) -> list[Kernel]:
        if name in self._kernels:
            return [self._kernels[name]]
        wanted = _normal_name(name)
        ways = (
            lambda k: k.mangled == name,
            lambda k: _normal_name(k.name) == wanted,
            lambda k: _without_namespaces(_normal_name(k.name)) == wanted,
            lambda k: k.name.partition("<")[0] == name,
            lambda k: k.name.partition("<")[0].split("::")[-1] == name,
        )
        return next(
            (found for way in ways if (found := [k for k in self._kernels.values() if way(k)])), []
        )


def _normal_name(name: str) -> str:
    """Return a kernel's name without superfluous spaces, and without the letters after numbers:
    "k<4U>" is also "k<4>".
    """
    plain = re.sub(r"(?<=\W)\s+|\s+(?=\W)", "", name.strip())
    return re.sub(r"(?<!\w)(\d+)[uUlL]+\b", r"\1", plain)


def _without_namespaces(name: str) -> str:
    plain, opening, arguments = name.partition("<")
    return plain.split("::")[-1] + opening + arguments


class Module:
    """A loaded source: its variables have memory and their initial values. `kernels` and `globals`
    are mappings by name.

    addresses: the addresses of all variables by symbol; regions: these variables and those of
    rehearsals as Global, by the machine's numbers.
    """

    def __init__(self, compiled: Compiled):
        self.compiled = compiled
        self.variables = {
            variable.symbol: variable
            for variable in compiled.debug.variables
            if variable.space != "local"
        }
        self.regions: dict[int, Global] = {}
        self._owned: list[int] = []
        self._release = weakref.finalize(self, _release, self._owned)
        self.addresses = self._allocate(encoded.variables(compiled), {})
        named = [
            variable for variable in self.regions.values() if variable.symbol in self.variables
        ]
        names = [variable.name for variable in named]
        self.globals = {v.symbol if names.count(v.name) > 1 else v.name: v for v in named}
        in_order = sorted(compiled.kernels, key=lambda info: info.line)
        self.kernels = Kernels([self._kernel(info) for info in in_order], compiled.templates)

    @cached_property
    def careful(self) -> Compiled | None:
        """The careful translation of the source, for rehearsals; None if there is none.

        A variable that holds a pointer to a function has a number of the module's own PTX, so that
        a module with such variables has no careful translation either.
        """
        functions = encoded.function_names(self.compiled)
        if any(
            name in functions
            for v in encoded.variables(self.compiled).values()
            for _, name, _ in v.addresses
        ):
            return None
        ptx = compiler.careful_ptx(self.compiled)
        ptx = gaps.with_gaps(ptx, self.compiled.debug.variables)
        return replace(self.compiled, ptx=ptx, is_careful=True) if ptx else None

    def addresses_for(self, compiled: Compiled) -> Mapping[str, int]:
        """Return the addresses that this PTX of the source needs, by symbol. It has its own tables
        of constants and strings.
        """
        if compiled is self.compiled:
            return self.addresses
        variables = encoded.variables(compiled)
        known = {
            name: self.addresses[name]
            for name in variables
            if name in self.variables and name in self.addresses
        }
        return self._allocate(
            {name: v for name, v in variables.items() if name not in known}, known
        )

    def _allocate(
        self, variables: Mapping[str, PtxVariable], known: Mapping[str, int]
    ) -> dict[str, int]:
        """Give these variables memory and their initial values. It returns the addresses of all
        variables by symbol.
        """
        with door:
            return self._allocated(variables, known)

    def _allocated(
        self, variables: Mapping[str, PtxVariable], known: Mapping[str, int]
    ) -> dict[str, int]:
        addresses = dict(known)
        for symbol, variable in variables.items():
            kind = _CONSTANT if variable.space == "const" else _DEVICE
            address = machine().halo_add_variable(variable.size, variable.align, kind)
            if not address:
                raise OutOfMemory(
                    f"cannot allocate the variable {symbol} of {quantity(variable.size, 'byte')}: "
                    "this computer has not enough free memory; use a smaller array"
                )
            addresses[symbol] = address
            self._owned.append(address)
        for symbol, variable in variables.items():
            self._fill(variable, addresses)
            self.regions[machine().halo_region_id(addresses[symbol])] = self._describe(
                variable, addresses[symbol]
            )
        return addresses

    def _fill(self, variable: PtxVariable, addresses: Mapping[str, int]) -> None:
        """Write the initial values. A `__constant__` variable without them is zero, as on a GPU,
        but reading it is a finding.
        """
        address = addresses[variable.name]
        if variable.data is not None:
            data = bytearray(variable.data)
            for offset, other, addend in variable.addresses:
                base = addresses.get(other)
                value = (
                    encoded.function_address(self.compiled, other)
                    if base is None
                    else base + addend
                )
                data[offset : offset + 8] = (value % 2**64).to_bytes(8, "little")
            ctypes.memmove(address, bytes(data), len(data))
        if variable.data is not None or variable.space != "const":
            machine().halo_mark_initialised(address, variable.size)

    def _describe(self, variable: PtxVariable, address: int) -> Global:
        symbol, size = variable.name, variable.size
        known = self.variables.get(symbol)
        if known is None:  # a table or string that the compiler made of constants
            space = "constant" if variable.space == "const" else "device"
            known = Variable(plain_name(symbol), symbol, "", 1, (size,), space, size=size)
        return Global(**vars(known), address=address)

    def _kernel(self, info: KernelInfo) -> Kernel:
        return Kernel(
            info.name, info.mangled, tuple(info.parameters), info.line, self, self.compiled
        )

    def file_of(self, path: str) -> str:
        """Return the module's name of a file of the debug information: for the source, the name
        under which it was compiled.
        """
        is_own = os.path.basename(path) == os.path.basename(self.compiled.file)
        return self.compiled.file if is_own else path

    def text_of(self, file: str) -> str:
        """Return the text of the source or of a header, "" if it cannot read the header."""
        return (
            self.compiled.source
            if file == self.compiled.file
            else "".join(linecache.getlines(file))
        )

    def require_assembled(self) -> None:
        """Raise CompileFailed, with file and line, if NVIDIA's assembler refuses the program. What
        the simulator cannot run either is told in its own words, which say what to do instead.
        """
        try:
            assembly.require(self.compiled)
        except CompileFailed:
            for kernel in self.kernels.values():
                kernel.require_supported()
            raise

    def close(self) -> None:
        """Free the variables. The module's kernels and globals must not be used afterwards."""
        self._release()


def _release(addresses: list[int]) -> None:
    def remove() -> None:
        for address in addresses:
            machine().halo_remove_global(address)
        addresses.clear()

    door.when_free(remove)


def load(
    source: str,
    options: Sequence[str] = (),
    file: str = "kernel.cu",
    extern_c: bool = False,
    rehearses: bool = True,
    counts: bool = False,
) -> Module:
    """Compile and loads CUDA source. Raises CompileFailed (with file:line) and
    toolkit.ToolkitMissingError.

    rehearses: compile the careful translation at once, while this thread reads the PTX; without it
    the first launch that rehearses waits for the compiler; counts: load the PTX that nvcc writes,
    for counters that are those of a GPU.

    Another thread asks the assembler meanwhile (Module.require_assembled).
    It refuses constant memory over 64 KB and static shared memory over 48 KB, as ptxas does.
    """
    compiled = compiler.compile_source(source, tuple(options), file, extern_c, counts=counts)
    assembly.begin(compiled)
    if rehearses and compiled.careful is not None:
        compiled.careful.begin(compiled.compiler)
    if counts:
        compiled = compiler.as_nvcc(compiled)
    constant = sum(v.size for v in encoded.variables(compiled).values() if v.space == "const")
    if constant > MAX_CONSTANT:
        raise CompileFailed(
            f"{file}: {quantity(constant, 'byte')} of constant memory, {MAX_CONSTANT:,} at most"
        )
    module = Module(compiled)
    if encoded.may_exceed_shared(compiled, MAX_STATIC_SHARED):
        for kernel in module.kernels.values():
            if kernel.static_shared > MAX_STATIC_SHARED:
                module.close()
                used = f"{quantity(kernel.static_shared, 'byte')} of static shared memory"
                raise CompileFailed(
                    f"{file}:{kernel.line}: {used} in {kernel.name}, {MAX_STATIC_SHARED:,} at most"
                )
    return module
