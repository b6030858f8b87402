"""The labs' data: two-class samples, Fashion-MNIST with its resizing, and trained weights.

The module imports NumPy only. The functions that download import further packages when they run.
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
    """A data file is missing or wrong; the message names it and says what to do."""


class ChecksumError(DataError):
    """A data file is damaged or partial: its sha256 is not the published one."""


# ---- two classes ----

TRAINING_SAMPLES, TEST_SAMPLES = 1096, 275
MAJORITY = 0.59  # share of class 0: a program that always answers 0 has this accuracy
MIXING = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2  # orthogonal


@dataclass(frozen=True)
class TwoClass:
    """Samples with 4 features and a class.

    x: float32, shape (samples, 4); each feature has mean 0 and deviation 1 over all samples. y:
    float32, shape (samples,), 0 or 1.
    """

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray


def two_class(seed: int = 0) -> TwoClass:
    """Return 1,096 training and 275 test samples of two classes: random numbers from `seed`.

    They have the sizes and the class shares (59 % class 0, in both parts) of the data in a course
    report whose own file is not public. In three hidden coordinates (u, v, w), class 1 lies above
    and class 0 below the bowl w = 1.2 ((u^2 + v^2) / 2 - 1), with some overlap. The fourth
    coordinate does not depend on the class. A rotation mixes all four into each feature, so that
    neither a single feature nor a plane separates the classes.
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
    """Return the indices of the test samples in random order; each class has its share."""
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

# The data set's own repository and its authors' storage. A file of either must have the sha256
# below.
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
    """Images with their classes.

    pixels: uint8, shape (n, 28, 28). labels: uint8, shape (n,), 0 to 9 as in `CLASSES`. source: the
    name of the data set.
    """

    pixels: np.ndarray
    labels: np.ndarray
    source: str

    def __len__(self) -> int:
        return len(self.labels)

    def repeated(self, count: int) -> np.ndarray:
        """Return the pixels of `count` images; the images repeat if there are fewer.

        This is for timings, which depend only on the number of images.
        """
        return self.pixels[np.arange(count) % len(self)]


def fashion_mnist(split: str = "test", count: int | None = None) -> Images:
    """Return the first `count` images of Fashion-MNIST, by default all.

    split: "train" has 60,000 images, "test" 10,000. The source is H. Xiao, K. Rasul, R. Vollgraf,
    "Fashion-MNIST: a novel image dataset for benchmarking machine learning algorithms" (2017), MIT
    licence. Up to 1,000 test images always come from data/.

    More images come from the published files, plain or .gz. If FASHION_MNIST_DIR is set, they must
    lie in that folder. Otherwise they are downloaded once, to the user's cache folder (or
    $HALO_CACHE).

    Raises ValueError for another split or count; UnavailableError if the download fails, and
    without another try if it failed before in this process; DataError if the folder of
    FASHION_MNIST_DIR lacks a file; ChecksumError for a damaged or partial file, which stays
    unchanged.
    """
    if split not in IMAGE_COUNTS:
        raise ValueError(f'split is {split!r}; Fashion-MNIST has "train" and "test"')
    count = _require_count(count, IMAGE_COUNTS[split], split)
    if split == "test" and count <= SAMPLE_COUNT:
        return _read(DATA, SAMPLE, count)
    variable = os.environ.get(FOLDER_VARIABLE, "").strip()
    folder = Path(variable).expanduser() if variable else _cache_folder()
    if not variable:
        _download_missing(folder, split)
    return _read(folder, FILES[split], count)


def images_at_hand(count: int) -> Images:
    """Return the first `count` test images, or the 1,000 of data/ if the download fails.

    In the second case, it prints one sentence, once in a process. Raises the other errors of
    `fashion_mnist`.
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
        raise ValueError(f"count is {count!r}; give 1 to {most:,} for the {split} set")
    return int(count)


def _cache_folder() -> Path:
    cache = os.environ.get("HALO_CACHE", "").strip()
    if cache:
        return Path(cache).expanduser().absolute() / "fashion-mnist"
    import platformdirs

    return platformdirs.user_cache_path("halo-labs") / "fashion-mnist"


def _read(folder: Path, files: tuple[IdxFile, ...], count: int) -> Images:
    pixels, labels = (read_idx(_verified(folder, file)) for file in files)
    return Images(pixels[:count], labels[:count], "Fashion-MNIST")


def _find(folder: Path, file: IdxFile) -> Path | None:
    """Return the path of the compressed file, else of the plain one, else None."""
    return next(
        (path for path in (folder / f"{file.name}.gz", folder / file.name) if path.is_file()), None
    )


def _verified(folder: Path, file: IdxFile) -> Path:
    path, ours = _find(folder, file), folder == DATA
    if path is None:
        advice = (
            f"{FOLDER_VARIABLE} must name a folder with the published files of Fashion-MNIST; "
            "without that variable they are downloaded."
        )
        raise DataError(
            f"{folder} has neither {file.name}.gz nor {file.name}. {_RESTORE if ours else advice}"
        )
    advice = _RESTORE if ours else "Remove it and fetch it again."
    _require_sha256(path, file.gz_sha256 if path.suffix == ".gz" else file.sha256, advice)
    return path


def _require_sha256(path: Path, expected: str, advice: str) -> None:
    with open(path, "rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    if sha256 != expected:
        raise ChecksumError(
            f"{path} is damaged or partial ({path.stat().st_size:,} bytes): its sha256 is "
            f"{sha256}, expected {expected}. It was left as it is. {advice}"
        )


# The reasons of failed downloads in this process, by folder and split: they are not tried again.
_failed: dict[tuple[Path, str], str] = {}


def _download_missing(folder: Path, split: str) -> None:
    """Fetch the files of `split` that `folder` lacks. Raises UnavailableError for a failure."""
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
    """Fetch one file; return the reason of a failure, or None.

    The download goes to a new folder inside `folder`, so that no partial file gets the final name.
    """
    reason = "no address"
    for url in URLS:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="part-", dir=folder) as part:
                whole = _fetch(url + file.name + ".gz", f"sha256:{file.gz_sha256}", Path(part))
                os.replace(whole, folder / f"{file.name}.gz")
            return None
        except (ImportError, OSError, ValueError) as error:
            # The errors of requests are OSErrors. Pooch raises ValueError for a wrong sha256.
            reason = _short(error, url)
    return reason


def _short(error: Exception, url: str) -> str:
    if isinstance(error, ValueError):
        return f"the file from {url} has another sha256 than the published one"
    if isinstance(error, ImportError):
        return "the package pooch is not installed"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return f"{type(error).__name__} at {url}"


def _require_answer(url: str) -> None:
    """Raise ConnectionError if no host answers at the address within CONNECT_S.

    The limit includes the look-up of the name. The time limits of requests do not, and they hold
    for each address of a host, so that a download without a network could take minutes to fail.
    Behind a proxy there is no such test, because only the proxy reaches the host.
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
    # Remarks on stderr look like an error in a notebook, and real errors are raised anyway.
    with warnings.catch_warnings(action="ignore"):
        import pooch
        from tqdm import tqdm

        for logger in (pooch.get_logger(), logging.getLogger("urllib3")):
            logger.setLevel("CRITICAL")
        _require_answer(url)
        name = url.rpartition("/")[2]
        # The bar appears after half a second, so that small files show none.
        look = {"unit": "B", "unit_scale": True, "leave": False, "delay": 0.5}
        with tqdm(total=0, desc=name, file=_Stdout(), **look) as progress:
            timeout = (CONNECT_S, READ_S)
            downloader = pooch.HTTPDownloader(progressbar=progress, timeout=timeout)
            return Path(pooch.retrieve(url, known_hash, name, folder, downloader=downloader))


class _Stdout:
    """The current standard output: notebooks and tests replace it between two writes."""

    def write(self, text: str) -> None:
        print(text, end="")

    def flush(self) -> None:
        print(end="", flush=True)


def read_idx(path: Path | str) -> np.ndarray:
    """Return the uint8 array of an idx file, plain or gzip (its first two bytes tell).

    The format: two zero bytes, the type (8 is uint8), the number of dimensions, each dimension as a
    big-endian int32, then the values with the last index fastest. Raises DataError for a file that
    is missing, cut off, too long, or of another type.
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
            f"{path} is cut off: it has {len(content)} bytes, and the header for {rank} dimensions "
            f"has {begin}"
        )
    shape = struct.unpack(f">{rank}I", content[4:begin])
    count = int(np.prod(shape, dtype=object))
    if len(content) - begin != count:
        raise DataError(
            f"{path} has {len(content) - begin:,} values; its header says {shape}, "
            f"that is {count:,}"
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

NETWORK_SIDE = 86  # pixels along a side of the networks' input
_RESIZED_AT_A_TIME = 500


def resize(images: np.ndarray, size: int = NETWORK_SIDE) -> np.ndarray:
    """Resize uint8 images, shape (n, height, width), to uint8, shape (n, size, size), bilinearly.

    Pixels have half-pixel centres: output o lies at source coordinate (o + 1/2) length / size -
    1/2, which is (28 o - 29) / 86 from 28 to 86. Cells outside the image count as 0, so that the
    border darkens. The weights are whole multiples of 1 / denominator, so that every value is
    computed exactly and then truncated. The function does not smooth the images before: for much
    smaller sizes, it skips the pixels between the outputs.

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
    """Return the networks' input: `resize`, then a cast to float32 NCHW, shape (n, 1, size, size).

    images: uint8, shape (n, height, width); the values stay 0 to 255. Raises what `resize` raises.
    10,000 images at 86x86 take 296 MB.
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
    # Sums of whole numbers are exact in any order: in float32 up to 2^24, in float64 up to 2^53.
    exact = np.float32 if 255 * unit <= 2**24 else np.float64
    sums = rows.astype(exact) @ (images.astype(exact) @ columns.T.astype(exact))
    return (sums.astype(np.int64 if 255 * unit >= 2**31 else np.int32) // unit).astype(np.uint8)


def _bilinear(length: int, size: int) -> tuple[np.ndarray, int]:
    """Return whole-number weights, shape (size, length), and their common denominator."""
    output = np.arange(size)
    numerator, denominator = (2 * output + 1) * length - size, 2 * size
    common = int(np.gcd.reduce(np.append(numerator, denominator)))
    numerator, denominator = numerator // common, denominator // common
    before, part = np.divmod(numerator, denominator)  # It rounds down, below 0 as well.
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
            "datasets.lenet_weights() is a network of the same shape."
        )
    file = Path(name).expanduser()
    return read_weights(file / COURSE_FILE if file.is_dir() else file, "the course's LeNet")


def lenet_weights() -> Weights:
    """Return this repository's LeNet, trained by `python -m helpers.tools.training`.

    `lenet_record` has its training and accuracy. Raises ChecksumError if the file is not the one of
    its record, and DataError if one of the two is missing.
    """
    sha256 = lenet_record()["weights_sha256"]
    if not LENET_FILE.is_file():
        raise DataError(f"there is no file {LENET_FILE}. {_RESTORE}")
    _require_sha256(LENET_FILE, sha256, _RESTORE)
    return read_weights(LENET_FILE, "the labs' LeNet")


def lenet_record() -> dict[str, Any]:
    """Return the record of the training, data/lenet_training.json.

    It has settings, accuracies, device, versions and the sha256 of the weights. Raises DataError if
    it is missing or cannot be read.
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
