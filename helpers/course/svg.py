"""An SVG that a student drew, made into one that can be shown: shapes, texts and their looks are
kept; programs, links, other files and whatever else a browser may run or fetch are left out.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

MOST_ELEMENTS, MOST_DEEP = 200_000, 100
_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_ELEMENTS = frozenset((
    "svg", "g", "defs", "symbol", "use", "path", "rect", "circle", "ellipse", "line", "polyline",
    "polygon", "text", "tspan", "clipPath", "marker", "linearGradient", "radialGradient", "stop",
    "image", "title", "desc",
))  # fmt: skip
_ATTRIBUTES = frozenset((
    "id", "class", "style", "transform", "d", "points", "x", "y", "x1", "y1", "x2", "y2", "cx",
    "cy", "r", "rx", "ry", "dx", "dy", "width", "height", "viewBox", "preserveAspectRatio",
    "version", "offset", "refX", "refY", "orient", "markerWidth", "markerHeight", "markerUnits",
    "gradientUnits", "gradientTransform", "clipPathUnits", "text-anchor", "dominant-baseline",
    "rotate", "textLength", "lengthAdjust", "fill", "fill-opacity", "fill-rule", "stroke",
    "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-dashoffset", "stroke-linecap",
    "stroke-linejoin", "stroke-miterlimit", "opacity", "clip-path", "clip-rule", "marker-start",
    "marker-mid", "marker-end", "stop-color", "stop-opacity", "font-family", "font-size",
    "font-style", "font-weight", "color", "display", "visibility",
))  # fmt: skip
# What a value may ask for: a part of the same drawing.
_ASKS = re.compile(r"url\((?!\s*[\"']?#)|@|\\|expression|javascript:|image-set|src\(", re.I)
_PART = re.compile(r"""url\(\s*["']?#([^)"'\s]*)["']?\s*\)""")
_PICTURE = re.compile(r"data:image/(png|jpeg);base64,[A-Za-z0-9+/=\s]*")


class UnsafeSvg(ValueError):
    """A text that is no SVG, or one that no reader should try; the message says why."""


def safe(data: bytes) -> bytes:
    """Return the drawing of an SVG alone. Raises UnsafeSvg."""
    try:
        root = ElementTree.fromstring(data, parser=ElementTree.XMLParser(target=_Builder()))
    except (ElementTree.ParseError, expat.ExpatError, ValueError) as error:
        raise UnsafeSvg(f"the SVG cannot be read: {error}") from None
    if root is None or root.tag != f"{{{_SVG}}}svg":
        raise UnsafeSvg("the text is no SVG")
    _without_nested_uses(root)
    _numbered(root)
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    return ElementTree.tostring(root, encoding="utf-8")


def _without_nested_uses(root: ElementTree.Element) -> None:
    """Leave out each `use` of something that has one itself: ten of ten of ten drawings, and so on,
    would keep a browser busy for ever.
    """
    plain = {
        one.get("id")
        for one in root.iter()
        if not any(below.tag == f"{{{_SVG}}}use" for below in one.iter())
    }
    for one in root.iter(f"{{{_SVG}}}use"):
        for key in ("href", f"{{{_XLINK}}}href"):
            if key in one.attrib and one.attrib[key].removeprefix("#") not in plain:
                del one.attrib[key]


def _numbered(root: ElementTree.Element) -> None:
    """Name the elements by their order: programs draw names by chance, and a drawing that was saved
    twice should be the same file.
    """
    names: dict[str, str] = {}
    for one in root.iter():
        if "id" in one.attrib:
            names.setdefault(one.attrib["id"], f"n{len(names)}")
    for one in root.iter():
        for key, value in one.attrib.items():
            if key == "id":
                one.attrib[key] = names[value]
            elif key.endswith("href") and value.startswith("#"):
                one.attrib[key] = f"#{names.get(value[1:], 'none')}"
            elif "url(" in value:
                one.attrib[key] = _PART.sub(lambda at: f"url(#{names.get(at[1], 'none')})", value)


class _Builder(ElementTree.TreeBuilder):
    """Builds the tree of what is allowed; of an element that is not, nothing inside it, either."""

    def __init__(self) -> None:
        super().__init__()
        self._count = self._deep = self._left_out = 0

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        """Matplotlib writes one without entities; expat expands none that is not declared."""

    def start(self, tag: Any, attrs: dict[Any, Any]) -> ElementTree.Element:
        self._count, self._deep = self._count + 1, self._deep + 1
        if self._count > MOST_ELEMENTS or self._deep > MOST_DEEP:
            raise UnsafeSvg("it has too many elements")
        name = tag.removeprefix(f"{{{_SVG}}}")
        if self._left_out or name not in _ELEMENTS:
            self._left_out += 1
            return ElementTree.Element("none")
        kept = {k: v for k, v in attrs.items() if k in _ATTRIBUTES and not _ASKS.search(v)}
        for key in ("href", f"{{{_XLINK}}}href"):
            link = attrs.get(key, "")
            if link.startswith("#") or (name == "image" and _PICTURE.fullmatch(link)):
                kept[key] = link
        return super().start(tag, kept)

    def data(self, data: str) -> None:
        if not self._left_out:
            super().data(data)

    def end(self, tag: str) -> ElementTree.Element:
        self._deep -= 1
        if self._left_out:
            self._left_out -= 1
            return ElementTree.Element("none")
        return super().end(tag)
