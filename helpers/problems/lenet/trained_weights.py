"""Trained weights of the LeNet: this repository's, the course's, and the format of the files."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from helpers.problems.data_files import DATA, RESTORE, DataError, require_sha256

WEIGHTS_VARIABLE = "COURSE_WEIGHTS"
COURSE_FILE = "weights-86.bin"
LENET_FILE, LENET_RECORD = DATA / "lenet_weights.bin", DATA / "lenet_training.json"

LAYER_SHAPES = {
    "conv1": (4, 1, 7, 7),
    "conv2": (16, 4, 7, 7),
    "fc3": (32, 1296),
    "fc3_bias": (32,),
    "fc4": (10, 32),
    "fc4_bias": (10,),
}
# The ten blocks of a weights file: name, weights, biases. Pooling and activation layers have empty
# blocks.
_BLOCKS = (
    ("conv1", 196, 4),
    ("activation", 0, 0),
    ("pooling", 0, 0),
    ("conv2", 3136, 16),
    ("activation", 0, 0),
    ("pooling", 0, 0),
    ("fc3", 41472, 32),
    ("activation", 0, 0),
    ("fc4", 320, 10),
    ("softmax", 0, 0),
)


@dataclass(frozen=True, eq=False)
class Weights:
    """The trained LeNet for 86x86 images, in float32.

    conv1: (4, 1, 7, 7); conv2: (16, 4, 7, 7), both without bias; fc3: (32, 1296) with fc3_bias
    (32,); fc4: (10, 32) with fc4_bias (10,). name: for figures. source: the file. Raises TypeError
    for another dtype; ValueError for another shape, NaN or infinity.
    """

    name: str
    source: str
    conv1: np.ndarray
    conv2: np.ndarray
    fc3: np.ndarray
    fc3_bias: np.ndarray
    fc4: np.ndarray
    fc4_bias: np.ndarray

    def __post_init__(self) -> None:
        for layer, shape in LAYER_SHAPES.items():
            array = getattr(self, layer)
            if getattr(array, "dtype", None) != np.float32:
                raise TypeError(
                    f"{layer} is {getattr(array, 'dtype', type(array).__name__)}; "
                    "expected a float32 array"
                )
            if array.shape != shape:
                raise ValueError(f"{layer} has shape {array.shape}; expected {shape}")
            if not np.isfinite(array).all():
                raise ValueError(
                    f"{layer} holds NaN or infinity: {self.source} is no trained network"
                )


def course_weights(path: Path | str | None = None) -> Weights:
    """Return the network of the course's own weights file, which is not part of this repository.

    path: the file, or a folder with weights-86.bin; by default the value of the environment
    variable COURSE_WEIGHTS. The function drops the two convolution biases, because the course's
    kernels do not add them. Raises DataError if neither names a file, and for a file that is cut
    off or has other counts.
    """
    name = str(path) if path is not None else os.environ.get(WEIGHTS_VARIABLE, "").strip()
    if not name:
        raise DataError(
            "The course's weights are not part of this repository. If you have the file "
            f"{COURSE_FILE}, pass its path, or set {WEIGHTS_VARIABLE} to it or to its folder. "
            "trained_weights.lenet_weights() is a network of the same shape."
        )
    file = Path(name).expanduser()
    return read_weights(file / COURSE_FILE if file.is_dir() else file, "the course's LeNet")


def lenet_weights() -> Weights:
    """Return this repository's LeNet, trained by `python -m evidence.training`.

    `lenet_record` has its training and accuracy. Raises ChecksumError if the file is not the one of
    its record, and DataError if one of the two is missing.
    """
    sha256 = lenet_record()["weights_sha256"]
    if not LENET_FILE.is_file():
        raise DataError(f"there is no file {LENET_FILE}. {RESTORE}")
    require_sha256(LENET_FILE, sha256, RESTORE)
    return read_weights(LENET_FILE, "the labs' LeNet")


def at_hand() -> list[Weights]:
    """Return the labs' network, and the course's where COURSE_WEIGHTS names its file."""
    named = os.environ.get(WEIGHTS_VARIABLE, "").strip()
    return [lenet_weights(), *([course_weights()] if named else [])]


def lenet_record() -> dict[str, Any]:
    """Return the record of the training, data/lenet_training.json.

    It has settings, accuracies, device, versions and the sha256 of the weights. Raises DataError if
    it is missing or cannot be read.
    """
    try:
        record = json.loads(LENET_RECORD.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{LENET_RECORD} cannot be read ({error}). {RESTORE}") from error
    if not isinstance(record, dict) or "weights_sha256" not in record:
        raise DataError(f'{LENET_RECORD} has no entry "weights_sha256". {RESTORE}')
    return record


def read_weights(path: Path | str, name: str) -> Weights:
    """Return the weights of a file in the course's format; name: of the network, for figures.

    The format, little endian: an int32 number of layers (10); then for each layer an int32 count
    and so many float32, weights before biases. The weights are in C order: convolutions
    (M, C, K, K), fully connected layers (outputs, inputs). Biases of convolutions are dropped.
    Raises DataError for a file that is missing, cut off or too long, or that has other counts;
    ValueError for NaN.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"the weights file {path} cannot be read ({error.strerror or error})"
        ) from error
    arrays = {}
    for layer, weights, biases, values in _blocks(content, path):
        if layer in LAYER_SHAPES:
            arrays[layer] = values[:weights].reshape(LAYER_SHAPES[layer])
            if f"{layer}_bias" in LAYER_SHAPES:
                arrays[f"{layer}_bias"] = values[weights : weights + biases]
    return Weights(
        name, f"{path.name}, sha256 {hashlib.sha256(content).hexdigest()[:12]}", **arrays
    )


def _blocks(content: bytes, path: Path) -> Iterator[tuple[str, int, int, np.ndarray]]:
    layers, at = _int32(content, 0, path), 4
    if layers != len(_BLOCKS):
        raise DataError(
            f"{path} says that it has {layers} layers; expected {len(_BLOCKS)}: it is not a "
            "weights file of this LeNet"
        )
    for number, (layer, weights, biases) in enumerate(_BLOCKS, 1):
        count, at = _int32(content, at, path), at + 4
        if count != weights + biases:
            raise DataError(
                f"{path}: layer {number} ({layer}) has {count} values; expected {weights + biases}"
            )
        if len(content) < at + 4 * count:
            raise DataError(
                f"{path} is cut off in layer {number} ({layer}): it has "
                f"{len(content):,} bytes of {_file_bytes():,}"
            )
        yield layer, weights, biases, np.frombuffer(content, "<f4", count, at).astype(np.float32)
        at += 4 * count
    if at != len(content):
        raise DataError(
            f"{path} has {len(content) - at} bytes after the last layer; expected "
            f"{_file_bytes():,} bytes in all"
        )


def _int32(content: bytes, at: int, path: Path) -> int:
    if len(content) < at + 4:
        raise DataError(f"{path} is cut off: it has {len(content):,} bytes of {_file_bytes():,}")
    return struct.unpack_from("<i", content, at)[0]


def _file_bytes() -> int:
    return 4 + sum(4 + 4 * (weights + biases) for _, weights, biases in _BLOCKS)


def write_weights(path: Path | str, weights: Weights) -> str:
    """Write a file for `read_weights`, with convolution biases of 0; return its sha256."""
    parts = [struct.pack("<i", len(_BLOCKS))]
    for layer, count, biases in _BLOCKS:
        values = np.zeros(count + biases, "<f4")
        if layer in LAYER_SHAPES:
            values[:count] = getattr(weights, layer).ravel()
            values[count:] = getattr(weights, f"{layer}_bias", 0)
        parts += [struct.pack("<i", values.size), values.tobytes()]
    content = b"".join(parts)
    path = Path(path)
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    os.replace(part, path)
    return hashlib.sha256(content).hexdigest()
