"""The two-class samples, Fashion-MNIST from everywhere it may come from, resizing, and weights;
broken files first.
"""

import functools
import gzip
import hashlib
import http.server
import math
import struct
import threading
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.problems import data_files, datasets, resizing, two_classes
from helpers.problems.lenet import trained_weights


def shares_of_right_answers(data, x_columns):
    """The accuracy on the test samples of the best plane through `x_columns`, by least squares."""
    train = np.c_[data.train_x[:, x_columns], np.ones(len(data.train_x))]
    test = np.c_[data.test_x[:, x_columns], np.ones(len(data.test_x))]
    weights = np.linalg.lstsq(train, 2 * data.train_y - 1, rcond=None)[0]
    return np.mean((test @ weights > 0) == data.test_y)


@pytest.mark.parametrize("seed", range(5))
def test_sizes_shares_and_types(seed):
    data = two_classes.two_class(seed)
    assert data.train_x.shape == (1096, 4)
    assert data.train_y.shape == (1096,)
    assert data.test_x.shape == (275, 4)
    assert data.test_y.shape == (275,)
    for array in (data.train_x, data.train_y, data.test_x, data.test_y):
        assert array.dtype == np.float32
        assert array.flags.c_contiguous
    for y in (data.train_y, data.test_y):
        assert set(y.tolist()) == {0.0, 1.0}
        assert round(1 - y.mean(), 2) == 0.59  # a constant answer reaches this
    x = np.concatenate([data.train_x, data.test_x])
    assert np.allclose(x.mean(axis=0), 0, atol=1e-5)
    assert np.allclose(x.std(axis=0), 1, atol=1e-5)


def test_no_sample_is_in_both_parts():
    data = two_classes.two_class()
    rows = {row.tobytes() for row in np.concatenate([data.train_x, data.test_x])}
    assert len(rows) == 1371


@pytest.mark.parametrize("seed", range(5))
def test_neither_a_plane_nor_one_feature_is_enough(seed):
    data = two_classes.two_class(seed)
    assert 0.6 < shares_of_right_answers(data, [0, 1, 2, 3]) < 0.85
    assert all(shares_of_right_answers(data, [column]) < 0.8 for column in range(4))


def test_the_same_seed_gives_the_same_samples():
    first, second, other = (
        two_classes.two_class(3),
        two_classes.two_class(3),
        two_classes.two_class(4),
    )
    assert np.array_equal(first.train_x, second.train_x)
    assert np.array_equal(first.test_y, second.test_y)
    assert not np.array_equal(first.train_x, other.train_x)


def test_the_classes_are_mixed_in_order():
    # Threads take stretches of the samples: each stretch must hold both classes.
    shares = [part.mean() for part in np.array_split(two_classes.two_class().train_y, 16)]
    assert min(shares) > 0.2
    assert max(shares) < 0.7


# ---- files in the idx format ----


def idx(array, kind=8):
    header = struct.pack(f">2xBB{array.ndim}I", kind, array.ndim, *array.shape)
    return header + array.tobytes()


PICTURES = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
GOOD = idx(PICTURES)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not an idx file"),
        (b"PNG....", "is not an idx file: it begins with b'PNG.'"),
        (idx(PICTURES, kind=13), "idx type 13; expected 8"),
        (GOOD[:10], "cut off: it has 10 bytes, and the header for 3 dimensions has 16"),
        (GOOD[:-1], r"has 23 values; its header says \(2, 3, 4\), that is 24"),
        (GOOD + b"x", "has 25 values"),
        (gzip.compress(GOOD, mtime=0)[:-9], "cannot be read"),
        # Its own check of the contents.
        (gzip.compress(GOOD, mtime=0)[:-8] + b"\0" * 8, "cannot be read"),
        (b"\x1f\x8bnot gzip", "cannot be read"),
    ],
)
def test_a_broken_idx_file_is_named(content, message, tmp_path):
    path = tmp_path / "pictures"
    path.write_bytes(content)
    with pytest.raises(data_files.DataError, match=f"{path} .*{message}|{path} {message}"):
        datasets.read_idx(path)


def test_a_missing_idx_file_is_named(tmp_path):
    with pytest.raises(data_files.DataError, match=r"there is no file .*nothing"):
        datasets.read_idx(tmp_path / "nothing")


@pytest.mark.parametrize("content", [GOOD, gzip.compress(GOOD, mtime=0)])
def test_an_idx_file_is_read(content, tmp_path):
    (tmp_path / "pictures").write_bytes(content)
    found = datasets.read_idx(tmp_path / "pictures")
    assert found.dtype == np.uint8
    assert np.array_equal(found, PICTURES)


# ---- Fashion-MNIST: sample, folder, cache, download ----


@pytest.fixture
def published(monkeypatch, tmp_path):
    """A published set of 5 test images with a sample of 2, an empty cache, and what was fetched."""
    pixels, labels = datasets.fashion_mnist("test", 5).pixels, np.array([3, 1, 4, 1, 5], np.uint8)
    plain = {"t10k-images-idx3-ubyte": idx(pixels), "t10k-labels-idx1-ubyte": idx(labels)}
    packed = {f"{name}.gz": gzip.compress(content, mtime=0) for name, content in plain.items()}
    files = tuple(
        datasets.IdxFile(name, sha256(packed[f"{name}.gz"]), sha256(plain[name])) for name in plain
    )
    monkeypatch.setattr(datasets, "FILES", {"test": files})
    monkeypatch.setattr(datasets, "IMAGE_COUNTS", {"train": 60_000, "test": 5})
    monkeypatch.setattr(datasets, "SAMPLE_COUNT", 2)
    datasets._say_once.cache_clear()
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv("HALO_CACHE", str(tmp_path / "cache"))
    fetched = []

    def fetch(url, known_hash, folder):
        fetched.append(url)
        path = folder / url.rpartition("/")[2]
        path.write_bytes(packed[path.name])
        return path

    monkeypatch.setattr(datasets, "_fetch", fetch)
    return SimpleNamespace(
        plain=plain,
        packed=packed,
        labels=labels,
        pixels=pixels,
        fetched=fetched,
        cache=tmp_path / "cache",
    )


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def put(folder, contents):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


def test_what_is_missing_is_fetched_once_and_kept(published):
    for _ in range(2):
        images = datasets.fashion_mnist("test", 3)
        assert images.source == "Fashion-MNIST"
        assert len(images) == 3
        assert np.array_equal(images.pixels, published.pixels[:3])
        assert np.array_equal(images.labels, published.labels[:3])
    assert [url.rpartition("/")[2] for url in published.fetched] == list(published.packed)
    assert sorted(path.name for path in (published.cache / "fashion-mnist").iterdir()) == sorted(
        published.packed
    )


def test_the_second_address_is_tried(published, monkeypatch):
    first, fetch = datasets.URLS[0], datasets._fetch

    def half(url, known_hash, folder):
        if url.startswith(first):
            raise ConnectionError("no route")
        return fetch(url, known_hash, folder)

    monkeypatch.setattr(datasets, "_fetch", half)
    assert np.array_equal(datasets.fashion_mnist().labels, published.labels)
    assert all(url.startswith(datasets.URLS[1]) for url in published.fetched)


def test_the_sample_asks_for_nothing_else(published, monkeypatch, tmp_path):
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path / "nowhere"))
    for give in (lambda n: datasets.fashion_mnist("test", n), datasets.images_at_hand):
        images = give(2)
        assert np.array_equal(images.pixels, published.pixels[:2])
        assert images.labels.tolist() == [9, 2]
    assert published.fetched == []
    assert not published.cache.exists()


def test_the_sample_is_what_its_readme_says():
    images = datasets.fashion_mnist("test", datasets.SAMPLE_COUNT)
    assert images.pixels.shape == (1000, 28, 28) and images.labels.shape == (1000,)
    assert images.pixels.dtype == images.labels.dtype == np.uint8
    assert images.labels[:10].tolist() == [9, 2, 1, 1, 6, 1, 4, 6, 5, 7]
    assert set(images.labels.tolist()) == set(range(10))
    readme = (data_files.DATA / "README.md").read_text()
    for file in datasets.SAMPLE:
        packed = (data_files.DATA / f"{file.name}.gz").read_bytes()
        assert sha256(packed) == file.gz_sha256
        assert sha256(gzip.decompress(packed)) == file.sha256
        assert f"`{file.gz_sha256}`" in readme


def test_a_damaged_sample_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets, "DATA", tmp_path)
    with pytest.raises(
        data_files.DataError, match=r"has neither fashion_mnist_1000_images.*git checkout"
    ):
        datasets.fashion_mnist("test", 1)
    put(tmp_path, {f"{file.name}.gz": b"half" for file in datasets.SAMPLE})
    with pytest.raises(data_files.ChecksumError, match=r"images.idx.gz is damaged.*git checkout"):
        datasets.fashion_mnist("test", 1)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ConnectionError("a long text of a library"), "ConnectionError at http"),
        (ValueError("wrong hash"), "another sha256 than the published one"),
        (ImportError("No module named 'pooch'"), "pooch is not installed"),
    ],
)
def test_without_a_download_the_sample_takes_its_place(
    error, reason, published, monkeypatch, capsys
):
    tried = []

    def broken(url, known_hash, folder):
        tried.append(url)
        (folder / "half").write_bytes(b"half a file")
        raise error

    monkeypatch.setattr(datasets, "_fetch", broken)
    for count in (4, 5):
        images = datasets.images_at_hand(count)
        assert np.array_equal(images.pixels, published.pixels[:2])
        assert np.array_equal(images.repeated(5), published.pixels[[0, 1, 0, 1, 0]])
        with pytest.raises(datasets.UnavailableError, match=reason):
            datasets.fashion_mnist("test", count)
    assert len(tried) == len(datasets.URLS)  # one attempt in a process
    said = capsys.readouterr()
    assert reason in said.out
    assert said.out.count("\n") == 1
    assert said.err == ""
    assert list((published.cache / "fashion-mnist").iterdir()) == []  # no half file stays


def test_a_cache_that_cannot_be_written_is_named(published):
    published.cache.write_text("a file where the folder should be")
    with pytest.raises(datasets.UnavailableError, match=f"{published.cache}.*: "):
        datasets.fashion_mnist()
    assert published.cache.read_text() == "a file where the folder should be"


def test_an_address_that_does_not_answer_is_given_up_soon(monkeypatch, capfd, tmp_path):
    pytest.importorskip("pooch")
    monkeypatch.setattr(datasets.urllib.request, "getproxies", dict)
    monkeypatch.setattr(datasets, "CONNECT_S", 0.1)
    ended = threading.Event()

    def silence(*arguments):
        ended.wait(60)
        raise TimeoutError

    monkeypatch.setattr(datasets.socket, "create_connection", silence)
    try:
        with pytest.raises(ConnectionError, match=r"nowhere\.invalid does not answer"):
            datasets._fetch("https://nowhere.invalid/a.gz", "sha256:0", tmp_path)
        assert not ended.is_set()  # it was not waited for
    finally:
        ended.set()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("variable", [False, True])
@pytest.mark.parametrize(
    "damage", [lambda c: c[:-5], lambda c: c[:20] + b"!" + c[21:], lambda c: b""]
)
def test_a_damaged_file_is_named_and_left(damage, variable, published, monkeypatch):
    name = "t10k-labels-idx1-ubyte.gz"
    folder = put(published.cache / "fashion-mnist", published.packed)
    (folder / name).write_bytes(damage(published.packed[name]))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    if variable:
        monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(folder))
    with pytest.raises(
        data_files.ChecksumError,
        match=f"{folder / name} is damaged or partial .*sha256.*It was left as it is",
    ):
        datasets.fashion_mnist()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert published.fetched == []


def test_a_folder_of_ones_own_is_used_and_not_filled_up(published, monkeypatch, tmp_path):
    own = put(tmp_path / "own", published.plain)  # plain files do too
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(own))
    assert np.array_equal(datasets.fashion_mnist().labels, published.labels)
    (own / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(
        data_files.DataError,
        match=r"has neither t10k-labels-idx1-ubyte.gz nor t10k-labels-idx1-ubyte",
    ):
        datasets.fashion_mnist()
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(data_files.DataError, match="nowhere has neither"):
        datasets.fashion_mnist()
    assert published.fetched == []


def test_a_changed_plain_file_is_found(published, monkeypatch, tmp_path):
    plain = dict(published.plain)
    # A good idx file, of another label.
    plain["t10k-labels-idx1-ubyte"] = plain["t10k-labels-idx1-ubyte"][:-1] + b"\x07"
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(put(tmp_path / "own", plain)))
    with pytest.raises(data_files.ChecksumError, match="t10k-labels"):
        datasets.fashion_mnist()


@pytest.mark.parametrize("count", [0, -1, 10_001, 2.0, True, "5"])
def test_a_count_that_cannot_be_is_explained(count):
    with pytest.raises(ValueError, match=r"count is .*1 to 10,000"):
        datasets.fashion_mnist("test", count)


def test_an_unknown_split_is_explained():
    with pytest.raises(ValueError, match="split is 'valid'"):
        datasets.fashion_mnist("valid")


def serve(folder):
    """An address on this machine under which the files of `folder` are to be had, and what stops
    it.
    """
    handler = functools.partial(SilentHandler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/", server


class SilentHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def test_a_real_download_checks_what_comes(tmp_path, capfd):
    pytest.importorskip("pooch")
    files, into = put(tmp_path / "files", {"a.gz": b"published"}), put(tmp_path / "into", {})
    url, server = serve(files)
    try:
        with pytest.raises(ValueError, match="hash"):
            datasets._fetch(url + "a.gz", f"sha256:{sha256(b'something else')}", into)
        with pytest.raises(OSError, match="404"):
            datasets._fetch(url + "b.gz", f"sha256:{sha256(b'')}", into)
        assert list(into.iterdir()) == []
        path = datasets._fetch(url + "a.gz", f"sha256:{sha256(b'published')}", into)
    finally:
        server.shutdown()
        server.server_close()
    assert path == into / "a.gz"
    assert path.read_bytes() == b"published"
    assert capfd.readouterr().err == ""  # a notebook would show it as an error


@pytest.mark.outside_data(datasets.FOLDER_VARIABLE)
def test_the_published_images():
    train, test = datasets.fashion_mnist("train"), datasets.fashion_mnist("test")
    for images, count in ((train, 60_000), (test, 10_000)):
        assert images.pixels.shape == (count, 28, 28)
        assert images.pixels.dtype == images.labels.dtype == np.uint8
        assert np.bincount(images.labels).tolist() == [count // 10] * 10
    sample = datasets.fashion_mnist("test", 1000)
    assert np.array_equal(sample.pixels, test.pixels[:1000])
    assert np.array_equal(sample.labels, test.labels[:1000])
    assert [datasets.CLASSES[label] for label in train.labels[:3]] == [
        "ankle boot",
        "T-shirt",
        "T-shirt",
    ]


# ---- resizing ----


def exact_bilinear(image, size):
    """The definition, value by value, in fractions."""
    result = np.zeros((size, size), int)
    for o in np.ndindex(size, size):
        at = [
            Fraction(2 * i + 1, 2) * n / size - Fraction(1, 2)
            for i, n in zip(o, image.shape, strict=True)
        ]
        low = [math.floor(coordinate) for coordinate in at]
        total = Fraction(0)
        for dy, dx in np.ndindex(2, 2):
            y, x = low[0] + dy, low[1] + dx
            weight = (1 - abs(at[0] - y)) * (1 - abs(at[1] - x))
            if 0 <= y < image.shape[0] and 0 <= x < image.shape[1]:
                total += weight * int(image[y, x])
        result[o] = math.floor(total)
    return result


def test_resizing_two_pixels_to_four_by_hand():
    # Source coordinates of the four outputs: -1/4, 1/4, 3/4, 5/4. So along a row (100, 200): 3/4 of
    # 100, then 125, 175, and 3/4 of 200 = 150; a column of both (equal) rows: 3/4, 1, 1, 3/4 of
    # that; 56.25, 93.75, 131.25 and 112.5 are truncated.
    image = np.array([[[100, 200], [100, 200]]], np.uint8)
    outer, inner = [56, 93, 131, 112], [75, 125, 175, 150]
    assert resizing.resize(image, 4).tolist() == [[outer, inner, inner, outer]]


def test_resizing_28_to_86_by_hand():
    image = np.zeros((1, 28, 28), np.uint8)
    image[0, 0] = 255  # the first row only
    got = resizing.resize(image)
    assert got.shape == (1, 86, 86)
    # Outputs 0, 1, 2, ... lie at rows (28 o - 29) / 86: -29/86, -1/86, 27/86, 55/86, 83/86, 111/86.
    middle = [255 * part // 86 for part in (57, 85, 59, 31, 3, 0)]
    assert middle == [169, 252, 174, 91, 8, 0]
    assert got[0, :6, 43].tolist() == middle
    # The corner: column 0 lies at -29/86 too, so 57/86 of the column counts, and 255 * 57 * 57 /
    # 86^2 = 112.01...
    assert got[0, 0, 0] == 112
    assert got[0, 1, 0] == 255 * 85 * 57 // 86**2 == 167


def test_another_resizing_differs():
    image = np.random.default_rng(1).integers(0, 256, (14, 14)).astype(np.uint8)
    edge = np.pad(image, 1, mode="edge")
    got = resizing.resize(image[None], 43)[0]
    assert np.array_equal(got, exact_bilinear(image, 43))
    wrong = {
        "half a pixel off": exact_bilinear(np.roll(image, 1, axis=0), 43),
        "edge repeated": exact_bilinear(edge, 49)[3:-3, 3:-3],
        "rounded": (resizing.resize(image[None] // 2, 43)[0].astype(int) * 2),
        "transposed": exact_bilinear(image.T, 43),
    }
    assert [name for name, other in wrong.items() if np.array_equal(got, other)] == []


@settings(max_examples=25)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 20), st.integers(0, 2**32 - 1))
def test_resizing_is_its_definition(height, width, size, seed):
    image = np.random.default_rng(seed).integers(0, 256, (1, height, width)).astype(np.uint8)
    assert np.array_equal(resizing.resize(image, size)[0], exact_bilinear(image[0], size))


def test_large_sizes_are_exact_too():
    # 255 * 1001^2 is more than float32 holds: the sums are then made in float64.
    image = np.full((1, 3, 3), 255, np.uint8)
    got = resizing.resize(image, 1001)
    assert np.array_equal(np.unique(got[0, 500]), np.unique(exact_line(1001)))
    assert (got[0, 300:700, 300:700] == 255).all()


def exact_line(size):
    at = [Fraction(2 * o + 1, 2) * 3 / size - Fraction(1, 2) for o in range(size)]
    return [math.floor(255 * min(1, 1 + a, 3 - a)) for a in at]


def test_the_same_size_changes_nothing_and_chunks_do_not_show():
    images = datasets.fashion_mnist("test", 1000).pixels
    assert np.array_equal(resizing.resize(images, 28), images)
    got = resizing.resize(images)
    for i in (0, 499, 500, 999):
        assert np.array_equal(got[i : i + 1], resizing.resize(images[i : i + 1]))


def test_the_networks_input():
    images = datasets.fashion_mnist("test", 3).pixels
    x = resizing.network_input(images)
    assert x.shape == (3, 1, 86, 86)
    assert x.dtype == np.float32
    assert x.flags.c_contiguous
    assert np.array_equal(x[:, 0], resizing.resize(images))
    assert x.max() > 100  # raw values, not shares of 255


@pytest.mark.parametrize(
    ("images", "size", "error", "message"),
    [
        (np.zeros((2, 28, 28), np.float32), 86, TypeError, "images are float32; expected uint8"),
        (
            np.zeros((28, 28), np.uint8),
            86,
            ValueError,
            r"shape \(28, 28\); expected \(n, height, width\)",
        ),
        (np.zeros((0, 28, 28), np.uint8), 86, ValueError, "not empty"),
        (np.zeros((2, 28, 28), np.uint8), 0, ValueError, "size is 0"),
        (np.zeros((2, 28, 28), np.uint8), 86.0, ValueError, "size is 86.0"),
    ],
)
def test_what_cannot_be_resized_is_explained(images, size, error, message):
    with pytest.raises(error, match=message):
        resizing.resize(images, size)


# ---- weights ----


def any_weights(seed=0):
    random = np.random.default_rng(seed)
    arrays = {
        layer: random.standard_normal(shape).astype(np.float32)
        for layer, shape in trained_weights.LAYER_SHAPES.items()
    }
    return trained_weights.Weights("random", "a test", **arrays)


@pytest.fixture
def weights_file(tmp_path):
    path = tmp_path / "weights-86.bin"
    trained_weights.write_weights(path, any_weights())
    return path


def test_weights_by_hand_in_the_files_order(tmp_path):
    # Written here value by value, by the description of the format: weights, then bias, layer after
    # layer.
    counts = (200, 0, 0, 3152, 0, 0, 41504, 0, 330, 0)
    values = np.arange(sum(counts), dtype="<f4")
    content, at = struct.pack("<i", 10), 0
    for count in counts:
        content += struct.pack("<i", count) + values[at : at + count].tobytes()
        at += count
    assert len(content) == 180_788
    (tmp_path / "mine.bin").write_bytes(content)
    found = trained_weights.course_weights(tmp_path / "mine.bin")
    assert found.conv1[1, 0, 2, 3] == 49 + 2 * 7 + 3
    assert found.conv2[1, 2, 3, 4] == 200 + 4 * 49 + 2 * 49 + 3 * 7 + 4
    assert found.fc3[2, 3] == 200 + 3152 + 2 * 1296 + 3
    assert found.fc3_bias[0] == 200 + 3152 + 32 * 1296
    assert found.fc4[9, 31] == 200 + 3152 + 41504 + 319
    assert found.fc4_bias.tolist() == list(range(200 + 3152 + 41504 + 320, sum(counts)))
    assert all(getattr(found, layer).dtype == np.float32 for layer in trained_weights.LAYER_SHAPES)


def test_written_weights_are_read_back(weights_file):
    found = trained_weights.read_weights(weights_file, "mine")
    assert found.name == "mine"
    assert found.source == f"weights-86.bin, sha256 {sha256(weights_file.read_bytes())[:12]}"
    for layer in trained_weights.LAYER_SHAPES:
        assert np.array_equal(getattr(found, layer), getattr(any_weights(), layer))
    assert [path.name for path in weights_file.parent.iterdir()] == ["weights-86.bin"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: b"", "cut off: it has 0 bytes of 180,788"),
        (lambda c: c[:-1], r"cut off: it has 180,787 bytes|cut off in layer"),
        (lambda c: c[:-100], r"cut off in layer 9 \(fc4\)"),
        (lambda c: c[:1000], r"cut off in layer 4 \(conv2\): it has 1,000 bytes of 180,788"),
        (lambda c: c + b"more", "has 4 bytes after the last layer"),
        (lambda c: struct.pack("<i", 9) + c[4:], "says that it has 9 layers; expected 10"),
        (
            lambda c: c[:4] + struct.pack("<i", 196) + c[8:],
            r"layer 1 \(conv1\) has 196 values; expected 200",
        ),
        (lambda c: struct.pack(">i", 10) + c[4:], "layers; expected 10"),
    ],
)
def test_a_damaged_weights_file_is_named(change, message, weights_file):
    weights_file.write_bytes(change(weights_file.read_bytes()))
    with pytest.raises(data_files.DataError, match=f"{weights_file}.*({message})"):
        trained_weights.course_weights(weights_file)


def test_weights_that_are_no_numbers_are_refused(weights_file):
    content = weights_file.read_bytes()
    weights_file.write_bytes(content[:8] + struct.pack("<f", math.nan) + content[12:])
    with pytest.raises(ValueError, match="conv1 holds NaN"):
        trained_weights.course_weights(weights_file)


def test_where_the_courses_weights_are_looked_for(weights_file, monkeypatch, tmp_path):
    monkeypatch.delenv(trained_weights.WEIGHTS_VARIABLE, raising=False)
    with pytest.raises(data_files.DataError, match=r"not part of this repository.*COURSE_WEIGHTS"):
        trained_weights.course_weights()
    with pytest.raises(data_files.DataError, match=r"missing.bin cannot be read \(No such file"):
        trained_weights.course_weights(tmp_path / "missing.bin")
    for place in (weights_file, weights_file.parent):
        assert trained_weights.course_weights(place).source.startswith("weights-86.bin")
        monkeypatch.setenv(trained_weights.WEIGHTS_VARIABLE, str(place))
        assert trained_weights.course_weights().name == "the course's LeNet"
    monkeypatch.setenv(trained_weights.WEIGHTS_VARIABLE, str(tmp_path / "empty"))
    with pytest.raises(data_files.DataError, match="empty cannot be read"):
        trained_weights.course_weights()


def test_weights_of_another_network_are_refused():
    right = {layer: getattr(any_weights(), layer) for layer in trained_weights.LAYER_SHAPES}
    with pytest.raises(
        ValueError, match=r"conv2 has shape \(4, 16, 7, 7\); expected \(16, 4, 7, 7\)"
    ):
        trained_weights.Weights("x", "y", **{**right, "conv2": right["conv2"].swapaxes(0, 1)})
    with pytest.raises(TypeError, match="fc3 is float64; expected a float32"):
        trained_weights.Weights("x", "y", **{**right, "fc3": right["fc3"].astype(float)})
    with pytest.raises(TypeError, match="fc4 is list"):
        trained_weights.Weights("x", "y", **{**right, "fc4": right["fc4"].tolist()})


def test_our_weights_are_those_of_their_record(monkeypatch, tmp_path):
    assert trained_weights.LENET_FILE.stat().st_size < 200_000
    assert trained_weights.lenet_weights().name == "the labs' LeNet"
    damaged = tmp_path / "lenet_weights.bin"
    content = trained_weights.LENET_FILE.read_bytes()
    damaged.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    before = damaged.read_bytes()
    monkeypatch.setattr(trained_weights, "LENET_FILE", damaged)
    with pytest.raises(data_files.ChecksumError, match=f"{damaged} is damaged.*git checkout"):
        trained_weights.lenet_weights()
    assert damaged.read_bytes() == before
    damaged.unlink()
    with pytest.raises(data_files.DataError, match="there is no file"):
        trained_weights.lenet_weights()
    monkeypatch.setattr(trained_weights, "LENET_RECORD", tmp_path / "no.json")
    with pytest.raises(data_files.DataError, match=r"no.json cannot be read"):
        trained_weights.lenet_weights()
    (tmp_path / "no.json").write_text("[]")
    with pytest.raises(data_files.DataError, match=r"no.json has no entry"):
        trained_weights.lenet_weights()
