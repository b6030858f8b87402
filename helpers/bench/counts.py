"""What the simulator counts of kernels, side by side: `Problem.count` returns a `Counts`.

    seen = layer.count("conv2d_constant", "conv2d_tiled", my_cell)
    print(seen)                             # a table, for 32 outputs
    seen.picture("x")                       # the addresses of one warp, a picture for each kernel
    seen["conv2d_tiled"].lines()            # by line of the source
    seen["conv2d_tiled"].findings           # what is wrong with the launch
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from helpers import tables
from helpers.bench.sources import Kernel
from helpers.limits import SECTOR_BYTES, WARP
from helpers.quantities import quantity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.simulator import Finding, Profile

NOT_YET = "yours: not yet"


@dataclass(frozen=True)
class Count:
    """The counters of one kernel on one problem, whose title is `problem`.

    profiles: the simulator's, one for each launch; () for a student's kernel that does not compile.
    A counter is the sum over them. outputs: how many were computed. covered: outputs for which the
    last launch has threads, idle ones included. passed: whether nothing was found and, for a
    student's kernel, the outputs are right.
    """

    kernel: Kernel
    problem: str
    profiles: tuple[Profile, ...]
    outputs: int
    covered: int
    passed: bool

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the simulator found wrong with the launch."""
        return tuple(finding for profile in self.profiles for finding in profile.findings)

    @property
    def profile(self) -> Profile:
        """The profile of the last launch, most kernels' only one. KeyError where there is none."""
        if not self.profiles:
            raise KeyError(f"{self.kernel.title} does not compile yet, so nothing was counted")
        return self.profiles[-1]

    def total(self, counter: str, space: str, access: str, array: str | None = None) -> int:
        """Return a counter of accesses, as in total("lanes", "global", "load", "x")."""
        return sum(profile.total(counter, space, access, array) for profile in self.profiles)

    @property
    def idle(self) -> float:
        """The share of the threads that have no output."""
        return 1 - self.outputs / self.covered

    def per(self, outputs: int, counter: str) -> float:
        """Return a counter for so many outputs, such as per(32, "global_load_requests")."""
        return outputs * counted(self, counter) / self.outputs

    def over(self, other: Count, counter: str) -> float:
        """Return a counter of this kernel over the other's."""
        return counted(self, counter) / counted(other, counter)

    def sectors(
        self, array: str, kind: str = "load", first: int | None = None
    ) -> tuple[int, int]:
        """Return the sectors that the watched warp asks for, and how many different ones.

        first: by so many requests only.
        """
        requests = [r for r in self.profile.requests if (r.array, r.kind) == (array, kind)]
        asked = [
            sector
            for request in requests[:first]
            for sector in {offset // SECTOR_BYTES for offset in request.offsets}
        ]
        return len(asked), len(set(asked))

    def each(self, array: str | None = None, kind: str = "load") -> float:
        """Return the sectors of a request of global memory, on average."""
        sectors = self.total("sectors", "global", kind, array)
        return sectors / self.total("requests", "global", kind, array)

    def executed(self, beginning: str) -> int:
        """Return how many PTX instructions whose names begin so the warps execute."""
        operations = (item for profile in self.profiles for item in profile.instructions.items())
        return sum(n for name, n in operations if name.startswith(beginning))

    def lines(self) -> str:
        """Return the counters by line of the source, of each launch."""
        return "\n\n".join(map(str, self.profiles))


def not_yet(kernel: Kernel, kernels: Iterable[Kernel]) -> str:
    """Return NOT_YET, the name of a student's kernel that has not passed.

    kernels: those of the table or figure, this one included. Where several of them are a
    student's, the name says which one it is: "yours: not yet (gemm_patch)".
    """
    names = {one.label for one in kernels if one.yours}
    return NOT_YET if len(names) == 1 else f"{NOT_YET} ({kernel.label.removeprefix('yours: ')})"


def counted(one: Count, counter: str) -> float:
    """Return a counter of a kernel: one of Profile.counters(), or "instructions"."""
    if counter == "instructions":
        return one.executed("")
    known = one.profile.counters()
    if counter in known:
        return sum(profile.counters()[counter] for profile in one.profiles)
    names = ", ".join(("instructions", *known))
    raise KeyError(f"there is no counter {counter!r}; choose from {names}")


Cell = Callable[["Count", int], str]


def _of(*counters: str) -> Cell:
    return lambda one, outputs: f"{sum(one.per(outputs, name) for name in counters):.1f}"


# The columns of a table: the head, and the cell of a kernel for so many outputs.
COLUMNS: Mapping[str, tuple[str, Cell]] = {
    "requests": ("global\nrequests", _of("global_load_requests")),
    "sectors": ("global\nsectors", _of("global_load_sectors")),
    "shared": (
        "shared\nwavefronts",
        _of("shared_load_wavefronts", "shared_store_wavefronts"),
    ),
    "barriers": ("barriers", _of("barriers")),
    "constant": ("constant\nrequests", _of("constant_load_requests")),
    "replays": ("replays", _of("constant_load_replays")),
    "stores": ("store\nsectors", _of("global_store_sectors")),
    "atomics": ("atomic\nrequests", _of("global_atomic_requests")),
    "shuffles": (
        "shuffles",
        lambda one, outputs: f"{outputs * one.executed('shfl') / one.outputs:.1f}",
    ),
    "instructions": ("instructions", _of("instructions")),
    "idle": ("idle\nthreads", lambda one, _: f"{one.idle:.0%}"),
}
USUAL = ("requests", "sectors", "shared", "barriers", "constant", "idle")


class Counts(Sequence[Count]):
    """The counters of several kernels. By place or label: seen[0], seen["conv2d_tiled"]."""

    def __init__(self, counts: Sequence[Count]):
        self._counts = tuple(counts)

    def __len__(self) -> int:
        return len(self._counts)

    def __getitem__(self, which: Any) -> Any:
        if not isinstance(which, str):
            return self._counts[which]
        for one in self._counts:
            if which in (one.kernel.label, one.kernel.title):
                return one
        there = ", ".join(one.kernel.title for one in self._counts)
        raise KeyError(f"nothing was counted of {which!r}; there is: {there}")

    def __iter__(self) -> Iterator[Count]:
        return iter(self._counts)

    def __add__(self, other: Counts) -> Counts:
        """Return both, for one table."""
        return Counts((*self, *other))

    @property
    def labels(self) -> list[str]:
        """The kernels' titles, with that of the problem where there are several."""
        if len({one.problem for one in self}) == 1:
            return [one.kernel.title for one in self]
        return [f"{one.kernel.title}, {one.problem}" for one in self]

    def not_yet(self, one: Count) -> str:
        """Return the name of a student's kernel among these that has not passed."""
        return not_yet(one.kernel, (each.kernel for each in self))

    def rows(
        self,
        cells: Callable[[Count], Iterable[str]],
        columns: int,
        labels: Sequence[str] | None = None,
    ) -> list[tuple[str, ...]]:
        """Return the rows of a table: each kernel's label, and so many cells.

        A student's kernel that has not passed has dashes. labels: in place of the kernels'.
        """
        return [
            (self.not_yet(one), *["-"] * columns)
            if one.kernel.yours and not one.passed
            else (label, *cells(one))
            for label, one in zip(labels or self.labels, self, strict=True)
        ]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found in all launches."""
        return tuple(finding for one in self for finding in one.findings)

    def table(
        self,
        *columns: str,
        labels: Sequence[str] | None = None,
        head: str = "",
        outputs: int = WARP,
    ) -> str:
        """Return counters for so many outputs, by default 32, what one full warp computes.

        columns: names of COLUMNS, by default USUAL; any other counter of a Profile is a column of
        its own name. labels: in place of the kernels'. head: of the first column. A student's
        kernel that has not passed has no counters yet. Raises KeyError for another column.
        """
        chosen = [COLUMNS.get(name) or (name, _of(name)) for name in columns or USUAL]
        rows = self.rows(
            lambda one: [cell(one, outputs) for _, cell in chosen], len(chosen), labels
        )
        head = head or f"per {quantity(outputs, 'output')}"
        return tables.text((head, *(title for title, _ in chosen)), rows)

    def __repr__(self) -> str:
        return "\n".join([self.table(), *map(str, self.findings)])

    def picture(
        self,
        array: str,
        kind: str = "load",
        *,
        first: int | None = None,
        request: int | None = None,
    ) -> Figure:
        """Draw the requests of one warp for an array, a picture for each kernel.

        An array of shared memory is drawn by banks, another one by sectors. first: so many
        requests only. request: the one of this number, for banks. A kernel whose warp makes no
        such request has none; raises ValueError where that is all of them.
        """
        from helpers import plotting
        from helpers.plotting import memory

        spaces = [_space(one, array, kind) for one in self]
        drawn = [
            (one, space, label)
            for one, space, label in zip(self, spaces, self.labels, strict=True)
            if space
        ]
        if not drawn:
            raise ValueError(f"no warp that was watched makes a {kind} of {array!r}")
        count, height = len(drawn), 6 if drawn[0][1] == "shared" else 4.2
        figure, axes = plotting.subplots(6.5 * count, height, columns=count, squeeze=False)
        maps = [
            memory.touched(one.profile, array, kind, space, first)
            for one, space, _ in drawn if space != "shared"
        ]
        ranges = iter(memory.shared_bytes(maps) if maps else ())
        for ax, (one, space, label) in zip(axes[0], drawn, strict=True):
            if space == "shared":
                title = f"{label}: {_waves(one, array, kind)}"
                plotting.bank_conflicts(
                    ax, one.profile, array=array, kind=kind, request=request, title=title
                )
                continue
            title = label
            if space == "global":
                asked, different = one.sectors(array, kind, first)
                title += f": asks for {quantity(asked, 'sector')} of {array}, {different} different"
                if first == 1:
                    title = f"{label}: a {kind} of {array} moves {quantity(asked, 'sector')}"
            if space == "constant":
                title += f": a {kind} of {array} asks for {_words(one, array, kind)}"
            plotting.access_map(
                ax, one.profile, array=array, kind=kind, space=space, first=first,
                shown=next(ranges), title=title,
            )
            legend = ax.get_legend()
            if first == 1 and legend is not None:
                legend.remove()  # of one request
        if drawn[0][1] == "shared":  # one picture may need room above its banks
            highest = min(ax.get_ylim()[1] for ax in axes[0])
            for ax in axes[0]:
                ax.set_ylim(top=highest)
        return figure


def _space(one: Count, array: str, kind: str) -> str:
    """Return the memory of the first request of the watched warp for an array; "" for none."""
    for request in one.profile.requests if one.profiles else ():
        if (request.array, request.kind) == (array, kind):
            return str(request.space)
    return ""


def _words(one: Count, array: str, kind: str) -> str:
    """Return how many different words the first request for an array asks for."""
    requests = (r for r in one.profile.requests if (r.array, r.kind) == (array, kind))
    words = len(set(next(requests).offsets))
    return quantity(words, "word")


def _waves(one: Count, array: str, kind: str) -> str:
    """Return how many wavefronts a request takes, of all requests for an array."""
    total = one.profile.total
    each = total("wavefronts", "shared", kind, array) / total("requests", "shared", kind, array)
    mean = "" if each == round(each) else ", on average"
    return f"{each:.2g} wavefront{'s' * (each > 1)} a {kind}{mean}"
