"""Records of earlier versions of the labs, row by row in the form that the bench writes.

A row of the bench has "series" (the kernel's label), "kernel", what names the problem ("layer",
"batch", ...), the kernel's sizes ("maps", "tile_width", ...), "registers", and, beside a baseline,
"over", "ratio", "low" and "high": the time over the baseline's. Earlier rows differ:

- the series is "ratio", or "A over B"; the baseline may be "without", or missing;
- some divide the baseline's time by the kernel's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Row = dict[str, Any]


def comparable(record: str, row: Mapping[str, Any]) -> Row:
    """Return a row of the record of this name in the form of the bench. New rows stay."""
    new = dict(row)
    if record in _SPECIAL:
        new = _SPECIAL[record](new)
    series = str(new["series"])
    if " over " in series:
        new["series"], _, new["over"] = series.partition(" over ")
    elif series == "ratio" and new.get("kernel"):
        new["series"] = new["kernel"]
    if (without := new.pop("without", None)) is not None:
        new["over"] = without
    return new


def _inverted(row: Row, kernel: str, over: str) -> Row:
    """Turn the baseline's time over the kernel's into the kernel's over the baseline's."""
    turned = {"ratio": 1 / row["ratio"], "low": 1 / row["high"], "high": 1 / row["low"]}
    return row | turned | {"series": kernel, "kernel": kernel, "over": over}


def _first_launch(row: Row) -> Row:
    """Return ratios over axpy_basic whose interval stands in words; the right way of timing is its
    own.
    """
    if row["series"] == "events on the stream (right)":
        return row | {"series": "axpy_basic"}
    if row["series"] != "comparison":
        return row
    ((low, high),) = _INTERVAL.findall(row.pop("says"))
    ratio = {"ratio": row["ratio"], "low": float(low), "high": float(high)}
    return {**row, "series": row.pop("a"), "over": "axpy_basic", **ratio}


def _caches(row: Row) -> Row:
    """Return Nsight Compute's counters by the names of `hardware.METRICS`."""
    names = {"l1_load_sectors": "load_sectors", "l2_read_sectors": "l2_sectors_read"}
    new = {names.get(key, key): value for key, value in row.items()}
    if (percent := new.pop("l1_load_hits_percent", None)) is not None:
        new["load_sectors_hit"] = percent / 100 * new["load_sectors"]
    return new


def _constant_1d(row: Row) -> Row:
    if row["series"] != "ratio" or row.get("over"):
        return row
    return _inverted(row, "conv1d_constant", "conv1d_basic")


def _layer(row: Row) -> Row:
    """Return the row with a kernel's name: "op time" is the plain kernel, and cuDNN has a row for
    each order of the arrays.
    """
    names = {"op time": "conv2d_basic", "cuDNN (PyTorch, FP32)": "cuDNN"}
    series = names.get(row["series"], row["series"])
    return row | {"series": series} if row.get("layer") else row


def _reported(row: Row) -> Row:
    return row | {"series": row["variant"] or row["kernel"]} if "variant" in row else row


def _wmma(row: Row) -> Row:
    """Return variants of conv2d_wmma by words, and ratios over the variant "half"."""
    variant = row.pop("variant", None)
    if variant is None:
        return row
    if row["series"] == "ratio" and variant == "float32":
        return _inverted(row, "conv2d_wmma", "conv2d_register_tiled")
    series = {"float32": "conv2d_register_tiled", "half": "conv2d_wmma"}.get(variant, variant)
    over = {"over": "conv2d_wmma"} if row["series"] == "ratio" else {}
    return row | over | {"series": series}


def _im2col(row: Row) -> Row:
    """Return rows of series "im2col and GEMM", and "ratio" without the names; "tile" is the tiles'
    width.
    """
    if (tile := row.pop("tile", None)) is not None:
        row["tile_width"] = tile
    if row["series"] == "im2col and GEMM":
        return row | {"series": "im2col_gemm"}
    if row["series"] == "ratio" and not row.get("kernel"):
        return row | {"series": "im2col_gemm", "over": "conv2d_basic"}
    return row


_INTERVAL = re.compile(r"interval ([\d.]+) to ([\d.]+)")
_SPECIAL: Mapping[str, Callable[[Row], Row]] = {
    "100_caches": _caches,
    "114_timing_traps": _first_launch,
    "102_deeper_loop": _constant_1d,
    "102_deeper_unrolled": _constant_1d,
    "107_layer": _layer,
    "111_reported": _reported,
    "200_im2col_gemm": _im2col,
    "202_fusion": _im2col,
    "303_deeper": _wmma,
}
