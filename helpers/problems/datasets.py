"""Fashion-MNIST: its test images that are part of this repository, and the published files.

The module imports NumPy only. The functions that download import further packages when they run.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
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
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from helpers.problems.data_files import DATA, RESTORE, DataError, require_sha256

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
            f"{folder} has neither {file.name}.gz nor {file.name}. {RESTORE if ours else advice}"
        )
    advice = RESTORE if ours else "Remove it and fetch it again."
    require_sha256(path, file.gz_sha256 if path.suffix == ".gz" else file.sha256, advice)
    return path


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
