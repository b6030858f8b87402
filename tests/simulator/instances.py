"""What the tests of small kernels share: a kernel around a body, many of them in one source, and
the facts of a finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from helpers import simulator

ONE_WARP = {"grid": (1,), "block": (32,)}


def kernel(body: str, parameters: str = "float* y, const float* x, int n", before: str = "") -> str:
    """Return a source with a kernel k. Its body begins in line 3, if `before` is one line."""
    return f'{before}\nextern "C" __global__ void k({parameters}) {{\n{body}\n}}\n'


def only(findings: Sequence[simulator.Finding], **facts: Any) -> simulator.Finding:
    """Return the only finding; facts: what it says, such as kind="race", line=4."""
    assert len(findings) == 1, [str(one) for one in findings]
    return require(findings[0], **facts)


def require(finding: simulator.Finding, **facts: Any) -> simulator.Finding:
    """Return a finding that says these facts."""
    said = {name: getattr(finding, name) for name in facts}
    assert said == facts, f"{said}, not {facts}: {finding}"
    return finding


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
