"""The data that the labs compute on: two-class samples, Fashion-MNIST with its resizing, and trained weights.

Only NumPy is imported with this module: what a download or a cache folder needs is imported where
it is used.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import hashlib
import json
import logging
import os
import socket
import struct
import tempfile
import threading
import urllib.parse
import urllib.request
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


class DataError(RuntimeError):
    """A data file is missing, or is not what it should be; the message names it and says what to do."""


class ChecksumError(DataError):
    """A data file is damaged or partial: its sha256 is not the published one. It is left as it is."""


# ---- two classes ----

TRAINING_SAMPLES, TEST_SAMPLES = 1096, 275
MAJORITY = 0.59  # of all samples are class 0: a program that always answers 0 has this accuracy
MIXING = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2  # orthogonal


@dataclass(frozen=True)
class TwoClass:
    """Samples with 4 features and a class. x: float32, shape (samples, 4), mean 0 and deviation 1 by feature over all
    samples; y: float32, shape (samples,), 0 or 1."""

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray


def two_class(seed: int = 0) -> TwoClass:
    """1,096 training and 275 test samples of two classes, made here from `seed`: no measurements of anything.

    They have the sizes and the class shares (59 % class 0, in both parts) of the data in a course
    report whose own file is not public. In three hidden coordinates (u, v, w) class 1 lies above
    and class 0 below the bowl w = 1.2 ((u^2 + v^2) / 2 - 1), with some overlap; a fourth says
    nothing about the class. A rotation mixes all four into each feature, so no feature alone and no
    plane separates the classes.
    """
    random = np.random.default_rng(seed)
    total = TRAINING_SAMPLES + TEST_SAMPLES
    y = (np.arange(total) >= round(MAJORITY * total)).astype(np.float32)
    u, v, noise, nothing = random.standard_normal((4, total))
    w = 1.2 * ((u**2 + v**2) / 2 - 1) + np.where(y == 1, 1.0, -1.0) + 0.35 * noise
    x = np.stack([u, v, w, nothing], axis=1) @ MIXING
    x = ((x - x.mean(axis=0)) / x.std(axis=0)).astype(np.float32)
    test = _stratified(y, random)
    train = random.permutation(np.setdiff1d(np.arange(total), test))
    return TwoClass(x[train], y[train], x[test], y[test])


def _stratified(y: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Indices of the test samples in random order, with as many of each class as its share."""
    ones = round(TEST_SAMPLES * float(y.mean()))
    shares = ((0, TEST_SAMPLES - ones), (1, ones))
    chosen = [
        random.choice(np.flatnonzero(y == label), size, replace=False) for label, size in shares
    ]
    return random.permutation(np.concatenate(chosen))


# ---- Fashion-MNIST ----

DATA = Path(__file__).resolve().parents[2] / "data"
SAMPLE_COUNT = 1_000  # the first test images, which are part of this repository
FOLDER_VARIABLE = "FASHION_MNIST_DIR"
SIDE = 28  # pixels
IMAGE_COUNTS = {"train": 60_000, "test": 10_000}
CLASSES = (
    "T-shirt",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)

# The data set's own repository and its authors' storage; what comes from either has to have the
# sha256 below.
URLS = (
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
)
CONNECT_S, READ_S = 3, 30


class UnavailableError(DataError):
    """The published files cannot be downloaded here; the message says why."""


@dataclass(frozen=True)
class IdxFile:
    """A file: its name without ".gz", and the sha256 of the compressed and of the plain file."""

    name: str
    gz_sha256: str
    sha256: str


SAMPLE = (
    IdxFile(
        "fashion_mnist_1000_images.idx",
        "4dfe4b10393a3d71052654929920f988792269baf4f6da9f736342c20d5417b2",
        "7a6d8e07ea021ec5bc73135ebd0a5770799557ec6f8242d8749c4f32a3cf4643",
    ),
    IdxFile(
        "fashion_mnist_1000_labels.idx",
        "af7938be5719422e8517551bf2d75db4819f3cf74292f252f03a241bc5e2ba64",
        "b40abac7ec8228f434940f579deb7cf7b6e3103b5274cb91d1545771f5ef1c8b",
    ),
)

FILES = {
    "train": (
        IdxFile(
            "train-images-idx3-ubyte",
            "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        ),
        IdxFile(
            "train-labels-idx1-ubyte",
            "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        ),
    ),
    "test": (
        IdxFile(
            "t10k-images-idx3-ubyte",
            "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        ),
        IdxFile(
            "t10k-labels-idx1-ubyte",
            "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
    ),
}


@dataclass(frozen=True, eq=False)
class Images:
    """Pictures with their classes. pixels: uint8, shape (n, 28, 28); labels: uint8, shape (n,), 0 to
    9 as in `CLASSES`; source: the name of the data set."""

    pixels: np.ndarray
    labels: np.ndarray
    source: str

    def __len__(self) -> int:
        return len(self.labels)

    def repeated(self, count: int) -> np.ndarray:
        """Return the pixels of `count` images, from the first one again where there are fewer.

        For timings: they depend on the number of images, not on what the images show.
        """
        return self.pixels[np.arange(count) % len(self)]


def fashion_mnist(split: str = "test", count: int | None = None) -> Images:
    """The first `count` images (all without it) of Fashion-MNIST: split "train" has 60,000, "test" 10,000.

    H. Xiao, K. Rasul, R. Vollgraf, "Fashion-MNIST: a novel image dataset for benchmarking machine
    learning algorithms" (2017), MIT licence. Up to 1,000 test images come from data/, always.

    More come from the published files, plain or .gz: from the folder that FASHION_MNIST_DIR names
    and from nowhere else when it is set, else from the user's cache folder ($HALO_CACHE where set),
    to which they are downloaded once.

    Raises ValueError for another split or count; UnavailableError where the download fails, and at
    once after it failed before in this process; DataError when FASHION_MNIST_DIR is set and lacks a
    file; ChecksumError for a damaged or partial file, which is named and left as it is.
    """
    if split not in IMAGE_COUNTS:
        raise ValueError(f'split is {split!r}; Fashion-MNIST has "train" and "test"')
    count = _require_count(count, IMAGE_COUNTS[split], split)
    if split == "test" and count <= SAMPLE_COUNT:
        return _read(DATA, SAMPLE, count)
    asked = os.environ.get(FOLDER_VARIABLE, "").strip()
    folder = Path(asked).expanduser() if asked else _cache_folder()
    if not asked:
        _download_missing(folder, split)
    return _read(folder, FILES[split], count)


def images_at_hand(count: int) -> Images:
    """The first `count` test images, or the 1,000 of data/ where all 10,000 cannot be downloaded.

    One printed sentence says so, once in a process. Raises what else `fashion_mnist` raises.
    """
    try:
        return fashion_mnist("test", count)
    except UnavailableError as error:
        _say_once(
            f"{error}: timings repeat the {SAMPLE_COUNT:,} test images of data/, "
            f"and accuracies over {IMAGE_COUNTS['test']:,} images are the recorded ones."
        )
        return fashion_mnist("test", SAMPLE_COUNT)


@functools.cache
def _say_once(sentence: str) -> None:
    print(sentence)


def _require_count(count: int | None, most: int, split: str) -> int:
    if count is None:
        return most
    if (
        isinstance(count, bool)
        or not isinstance(count, (int, np.integer))
        or not 1 <= count <= most
    ):
        raise ValueError(f"count is {count!r}; the {split} set has 1 to {most:,} images to give")
    return int(count)


def _cache_folder() -> Path:
    asked = os.environ.get("HALO_CACHE", "").strip()
    if asked:
        return Path(asked).expanduser().absolute() / "fashion-mnist"
    import platformdirs

    return platformdirs.user_cache_path("halo-labs") / "fashion-mnist"


def _read(folder: Path, files: tuple[IdxFile, ...], count: int) -> Images:
    pixels, labels = (read_idx(_verified(folder, file)) for file in files)
    return Images(pixels[:count], labels[:count], "Fashion-MNIST")


def _find(folder: Path, file: IdxFile) -> Path | None:
    """The compressed file, else the plain one, else None."""
    return next(
        (path for path in (folder / f"{file.name}.gz", folder / file.name) if path.is_file()), None
    )


def _verified(folder: Path, file: IdxFile) -> Path:
    path, ours = _find(folder, file), folder == DATA
    if path is None:
        raise DataError(
            f"{folder} has neither {file.name}.gz nor {file.name}. "
            + (
                _RESTORE
                if ours
                else f"{FOLDER_VARIABLE} names a folder that holds the published "
                "files of Fashion-MNIST; without that variable they are downloaded."
            )
        )
    advice = _RESTORE if ours else "Remove it and fetch it again."
    _require_sha256(path, file.gz_sha256 if path.suffix == ".gz" else file.sha256, advice)
    return path


def _require_sha256(path: Path, wanted: str, advice: str) -> None:
    with open(path, "rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != wanted:
        raise ChecksumError(
            f"{path} is damaged or partial ({path.stat().st_size:,} bytes): its sha256 is {found}, "
            f"expected {wanted}. It was left as it is. {advice}"
        )


# Why the download of a split to a folder failed in this process: it is not tried again.
_failed: dict[tuple[Path, str], str] = {}


def _download_missing(folder: Path, split: str) -> None:
    """Fetch the files of `split` that `folder` lacks. Raises UnavailableError where that fails now,
    or failed before."""
    missing = [file for file in FILES[split] if not _find(folder, file)]
    if not missing:
        return
    reason = _failed.get((folder, split))
    if reason is None:
        reason = next(filter(None, (_download(folder, file) for file in missing)), None)
    if reason is not None:
        _failed[folder, split] = reason
        raise UnavailableError(f"Fashion-MNIST cannot be downloaded here ({reason})")


def _download(folder: Path, file: IdxFile) -> str | None:
    """Fetches one file into a new folder beside its place and moves it there when whole; returns why not, or None."""
    reason = "no address"
    for url in URLS:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="part-", dir=folder) as part:
                whole = _fetch(url + file.name + ".gz", f"sha256:{file.gz_sha256}", Path(part))
                os.replace(whole, folder / f"{file.name}.gz")
            return None
        except (ImportError, OSError, ValueError) as error:
            # Pooch: requests' errors are OSErrors; ValueError: wrong sha256.
            reason = _short(error, url)
    return reason


def _short(error: Exception, url: str) -> str:
    if isinstance(error, ValueError):
        return f"what came from {url} has another sha256 than published"
    if isinstance(error, ImportError):
        return "the package pooch is not installed"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return f"{type(error).__name__} at {url}"


def _require_answer(url: str) -> None:
    """Raises ConnectionError where nothing answers at the address within CONNECT_S.

    The look-up of its name is included. The time limits of requests hold for each address of a host
    and not for the look-up: without a network a download could take minutes to fail. With a proxy
    only the proxy knows what answers.
    """
    address, answered = urllib.parse.urlsplit(url), threading.Event()
    if urllib.request.getproxies():
        return

    def knock() -> None:
        port = address.port or {"http": 80, "https": 443}[address.scheme]
        place = address.hostname, port
        with contextlib.suppress(OSError), socket.create_connection(place, CONNECT_S):
            answered.set()

    thread = threading.Thread(target=knock, daemon=True)
    thread.start()
    thread.join(CONNECT_S)
    if not answered.is_set():
        raise ConnectionError(f"{address.hostname} does not answer")


def _fetch(url: str, known_hash: str, folder: Path) -> Path:
    # Remarks on stderr look like an error in a notebook, and what matters is raised.
    with warnings.catch_warnings(action="ignore"):
        import pooch
        from tqdm import tqdm

        for logger in (pooch.get_logger(), logging.getLogger("urllib3")):
            logger.setLevel("CRITICAL")
        _require_answer(url)
        name = url.rpartition("/")[2]
        # Shown after half a second: not for the small files.
        look = {"unit": "B", "unit_scale": True, "leave": False, "delay": 0.5}
        with tqdm(total=0, desc=name, file=_Stdout(), **look) as progress:
            timeout = (CONNECT_S, READ_S)
            downloader = pooch.HTTPDownloader(progressbar=progress, timeout=timeout)
            return Path(pooch.retrieve(url, known_hash, name, folder, downloader=downloader))


class _Stdout:
    """Standard output as it is at the moment of writing: notebooks and tests replace it."""

    def write(self, text: str) -> None:
        print(text, end="")

    def flush(self) -> None:
        print(end="", flush=True)


def read_idx(path: Path | str) -> np.ndarray:
    """The uint8 array of an idx file, plain or gzip (by its first two bytes): two zero bytes, the type (8: uint8), the
    number of dimensions, each dimension as a big-endian int32, then the values with the last index
    fastest.

    Raises DataError, which names the file, where it is missing, cut off, longer than it says, or of
    another type.
    """
    path = Path(path)
    content = _unpacked(path)
    if len(content) < 4 or content[:2] != b"\0\0":
        raise DataError(
            f"{path} is not an idx file: it begins with {content[:4]!r}, expected two zero bytes, "
            "type and rank"
        )
    kind, rank = content[2], content[3]
    if kind != 8:
        raise DataError(f"{path} holds values of idx type {kind}; expected 8, which is uint8")
    begin = 4 + 4 * rank
    if rank == 0 or len(content) < begin:
        raise DataError(
            f"{path} is cut off: {len(content)} bytes, and its header of "
            f"{rank} dimensions has {begin}"
        )
    shape = struct.unpack(f">{rank}I", content[4:begin])
    wanted = int(np.prod(shape, dtype=object))
    if len(content) - begin != wanted:
        raise DataError(
            f"{path} has {len(content) - begin:,} values; its header says {shape}, "
            f"that is {wanted:,}"
        )
    return np.frombuffer(content, np.uint8, offset=begin).reshape(shape)


def _unpacked(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except (EOFError, zlib.error, OSError) as error:
        raise DataError(f"{path} cannot be read ({error})") from error


# ---- resizing ----

NETWORK_SIDE = 86  # pixels: what the networks take
_RESIZED_AT_A_TIME = 500


def resize(images: np.ndarray, size: int = NETWORK_SIDE) -> np.ndarray:
    """Bilinear resizing of uint8 images, shape (n, height, width), to uint8, shape (n, size, size).

    Half-pixel centres: output o lies at source coordinate (o + 1/2) length / size - 1/2, which is
    (28 o - 29) / 86 from 28 to 86. Cells outside the image count as 0, so the border darkens. The
    weights are whole multiples of 1 / denominator, so every value is computed exactly, and then
    truncated. There is no smoothing beforehand: to much smaller sizes, pixels between the outputs
    are skipped.

    Raises TypeError for another dtype, ValueError for another rank, an empty array or a size below
    1.
    """
    images = _require_pixels(images)
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
        raise ValueError(f"size is {size!r}; expected a whole number of pixels, 1 or more")
    resized = np.empty((len(images), size, size), np.uint8)
    for begin, part in _chunks(images):
        resized[begin : begin + len(part)] = _resize_chunk(part, int(size))
    return resized


def network_input(images: np.ndarray, size: int = NETWORK_SIDE) -> np.ndarray:
    """float32 NCHW, shape (n, 1, size, size), raw values 0 to 255, of uint8 images (n, height, width): `resize`, then a cast.

    Raises what `resize` raises. 10,000 images at 86x86 are 296 MB.
    """
    return resize(images, size).astype(np.float32)[:, None]


def _require_pixels(images: np.ndarray) -> np.ndarray:
    images = np.asarray(images)
    if images.dtype != np.uint8:
        raise TypeError(f"images are {images.dtype}; expected uint8 with values 0 to 255")
    if images.ndim != 3 or images.size == 0:
        raise ValueError(
            f"images have shape {images.shape}; expected (n, height, width), not empty: "
            "image[None] is a batch of one"
        )
    return images


def _chunks(images: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    for begin in range(0, len(images), _RESIZED_AT_A_TIME):
        yield begin, images[begin : begin + _RESIZED_AT_A_TIME]


def _resize_chunk(images: np.ndarray, size: int) -> np.ndarray:
    (rows, row_unit), (columns, column_unit) = (
        _bilinear(length, size) for length in images.shape[1:]
    )
    unit = row_unit * column_unit
    # Sums of whole numbers: exact in float32 up to 2^24, in float64 up to 2^53, in any order of
    # summation.
    exact = np.float32 if 255 * unit <= 2**24 else np.float64
    sums = rows.astype(exact) @ (images.astype(exact) @ columns.T.astype(exact))
    return (sums.astype(np.int64 if 255 * unit >= 2**31 else np.int32) // unit).astype(np.uint8)


def _bilinear(length: int, size: int) -> tuple[np.ndarray, int]:
    """Whole-number weights, shape (size, length), and the number that they are multiples of 1 over."""
    output = np.arange(size)
    numerator, denominator = (2 * output + 1) * length - size, 2 * size
    common = int(np.gcd.reduce(np.append(numerator, denominator)))
    numerator, denominator = numerator // common, denominator // common
    before, part = np.divmod(numerator, denominator)  # rounds down, also below 0
    weights = np.zeros((size, length), np.int64)
    for cell, weight in ((before, denominator - part), (before + 1, part)):
        inside = (cell >= 0) & (cell < length)
        weights[output[inside], cell[inside]] += weight[inside]
    return weights, denominator


# ---- the LeNet's weights ----

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
    """The trained LeNet for 86x86 images, all float32: conv1 (4, 1, 7, 7), conv2 (16, 4, 7, 7), fc3 (32, 1296) with
    fc3_bias (32,), fc4 (10, 32) with fc4_bias (10,). Convolutions have no bias. name: for figures;
    source: where from.

    Raises TypeError for another dtype; ValueError for another shape, NaN or infinity.
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
    """The network of the course's own weights file, for those who have it: it is not part of this repository.

    path: the file, or a folder that holds weights-86.bin; without it, the environment variable
    COURSE_WEIGHTS names one. Its two convolution biases are left out, as the course's kernels leave
    them out. Raises DataError when neither names a file, or the file is cut off or has other
    counts.
    """
    given = str(path) if path is not None else os.environ.get(WEIGHTS_VARIABLE, "").strip()
    if not given:
        raise DataError(
            "The course's weights are not part of this repository. Those who have the file "
            f"{COURSE_FILE}: pass its path, or set {WEIGHTS_VARIABLE} to it or to its folder. "
            "datasets.lenet_weights() is a network of the same shape."
        )
    file = Path(given).expanduser()
    return read_weights(file / COURSE_FILE if file.is_dir() else file, "the course's LeNet")


def lenet_weights() -> Weights:
    """This repository's LeNet, trained by `python -m helpers.tools.training`; `lenet_record` says how, and how good it is.

    Raises ChecksumError where the file is not the one that its record describes, DataError where
    either is missing.
    """
    wanted = lenet_record()["weights_sha256"]
    if not LENET_FILE.is_file():
        raise DataError(f"there is no file {LENET_FILE}. {_RESTORE}")
    _require_sha256(LENET_FILE, wanted, _RESTORE)
    return read_weights(LENET_FILE, "the labs' LeNet")


def lenet_record() -> dict[str, Any]:
    """The record of the training, data/lenet_training.json: settings, accuracies, device, versions, sha256 of the weights.

    Raises DataError where it is missing or cannot be read.
    """
    try:
        record = json.loads(LENET_RECORD.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{LENET_RECORD} cannot be read ({error}). {_RESTORE}") from error
    if not isinstance(record, dict) or "weights_sha256" not in record:
        raise DataError(f'{LENET_RECORD} has no entry "weights_sha256". {_RESTORE}')
    return record


_RESTORE = "Restore it: git checkout -- data"


def read_weights(path: Path | str, name: str) -> Weights:
    """The weights in a file of the course's format, named `name`.

    Little endian: int32 number of layers (10), then for each an int32 count and so many float32,
    weights before biases, weights in C order: convolutions (M, C, K, K), fully connected (outputs,
    inputs). Biases of convolutions are dropped. Raises DataError where the file is missing, cut
    off, longer, or has other counts; ValueError where it holds NaN.
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
            f"{path} says it has {layers} layers; expected {len(_BLOCKS)}: it is "
            "no weights file of this LeNet"
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
    """Writes the file that `read_weights` reads, with convolution biases of 0; returns its sha256."""
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
