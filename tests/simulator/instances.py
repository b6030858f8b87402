"""Many kernels in one source, which is compiled once: instances of a template."""

from __future__ import annotations

from collections.abc import Iterable


class Kernels:
    """Kernels with these bodies and the same parameters; `before` stands once above all of them."""

    def __init__(self, bodies: Iterable[str], parameters: str, before: str = ""):
        self._bodies = list(dict.fromkeys(bodies))
        kernels = "".join(
            f"template <> __global__ void k<{number}>({parameters}) {{\n{body}\n}}\n"
            for number, body in enumerate(self._bodies)
        )
        self.source = f"{before}\ntemplate <int N> __global__ void k({parameters});\n{kernels}"

    def of(self, body: str) -> tuple[str, str]:
        """Returns the source, and the name that the kernel with this body has in it."""
        return self.source, f"k<{self._bodies.index(body)}>"

    def line(self, body: str, number: int = 1) -> int:
        """Returns the line of the source that is line `number` of this body, from 1 on."""
        above = self.source.partition(f" k<{self._bodies.index(body)}>(")[0]
        return above.count("\n") + 1 + number
