"""The yardstick says clearly when it is not there; with a stand-in for PyTorch, that a wrong result
of it is not timed.
"""

import contextlib
import importlib.util
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import checking, device
from helpers.bench import cudnn, results
from helpers.limits import ConvShape
from helpers.problems import conv2d

SHAPE = ConvShape(B=3, C=2, M=4, H=6, W=7, K=3)


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setattr(device, "select", lambda: SimpleNamespace(kind="gpu"))


def no_torch(monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *more: None if name == "torch" else real(name, *more),
    )


def test_in_the_simulator_there_is_none(monkeypatch):
    monkeypatch.setattr(device, "select", lambda: SimpleNamespace(kind="simulator"))
    assert cudnn.why_not() == "the simulator has no cuDNN"
    with pytest.raises(
        cudnn.TorchMissing, match=r"cuDNN \(PyTorch, FP32\) is left out: the simulator has no cuDNN"
    ):
        cudnn.require()


def test_missing_torch_is_said(gpu, monkeypatch):
    no_torch(monkeypatch)
    with pytest.raises(
        cudnn.TorchMissing, match=r"left out: PyTorch is not installed.*pip install torch"
    ):
        cudnn.Convolution(SHAPE, 0, 0)
    with pytest.raises(cudnn.TorchMissing, match="not installed"):
        list(cudnn.contenders(SHAPE, 0, 0, 0, 1e-6))


@pytest.mark.parametrize(("cuda", "has_cudnn"), [(False, True), (True, False)])
def test_torch_without_cuda_is_said(gpu, monkeypatch, cuda, has_cudnn):
    install(monkeypatch, FakeTorch({}, cuda=cuda, cudnn=has_cudnn))
    with pytest.raises(cudnn.TorchMissing, match="installed without CUDA and cuDNN"):
        cudnn.require()


def test_a_broken_torch_is_said(gpu, monkeypatch):
    install(monkeypatch, SimpleNamespace())  # no torch.cuda: as if its libraries did not load
    assert cudnn.why_not().startswith("PyTorch is installed and does not start: AttributeError")


# ---- with a stand-in for PyTorch ----


class Tensor:
    def __init__(self, array, strides=None):
        self.array, self.shape, self.strides = array, array.shape, strides
        self.dtype, self.device = array.dtype, "cuda"

    def copy_(self, other):
        self.array[...] = other.array
        return self

    def contiguous(self, memory_format=None):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self.array

    def abs(self):
        return Tensor(np.abs(self.array))

    def max(self):
        return self.array.max()

    def sum(self, axes):
        return Tensor(self.array.sum(axes))

    def half(self):
        return Tensor(self.array.astype(np.float16))

    def float(self):
        return Tensor(self.array.astype(np.float32))

    def all(self):
        return self.array.all()

    def __getitem__(self, part):
        return Tensor(self.array[part])

    def __sub__(self, other):
        return Tensor(self.array - other.array)

    def __le__(self, bound):
        return Tensor(self.array <= bound)


def padded(tensor, widths):
    """PyTorch's order of widths: before and after the last axis first."""
    pairs = [widths[i : i + 2] for i in range(0, len(widths), 2)]
    pairs += [(0, 0)] * (tensor.array.ndim - len(pairs))
    return Tensor(np.pad(tensor.array, pairs[::-1]))


class FakeTorch(SimpleNamespace):
    """As much of PyTorch as the yardstick uses; `memory` maps addresses to arrays, conv2d gives
    memory["y"].
    """

    def __init__(self, memory, cuda=True, cudnn=True):
        streams = []
        super().__init__(
            streams=streams,
            channels_last="channels_last",
            no_grad=contextlib.nullcontext,
            backends=SimpleNamespace(
                cudnn=SimpleNamespace(
                    is_available=lambda: cudnn,
                    version=lambda: 91002,
                    benchmark=False,
                    benchmark_limit=10,
                    allow_tf32=True,
                ),
                cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=True)),
            ),
            cuda=SimpleNamespace(
                is_available=lambda: cuda,
                synchronize=lambda: None,
                default_stream=lambda: "default",
                ExternalStream=lambda handle: handle,
                stream=lambda on: contextlib.nullcontext(streams.append(on)),
            ),
            as_tensor=lambda borrowed, device: self.borrow(
                memory, borrowed.__cuda_array_interface__
            ),
            nn=SimpleNamespace(
                functional=SimpleNamespace(
                    conv2d=lambda x, filter, stride: Tensor(memory["y"]), pad=padded
                )
            ),
            empty_strided=lambda shape, strides, dtype, device: Tensor(
                np.empty(shape, dtype), strides
            ),
        )

    @staticmethod
    def borrow(memory, interface):
        array = memory[interface["data"][0]]
        assert array.shape == interface["shape"]
        assert interface["typestr"] == "<f4"
        return Tensor(array)


def install(monkeypatch, torch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *more: name if name == "torch" else real(name, *more),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)


@pytest.fixture
def torch(gpu, monkeypatch):
    want = np.random.default_rng(0).uniform(-1, 1, SHAPE.y_shape).astype(np.float32)
    fake = FakeTorch(
        {1: np.zeros(SHAPE.x_shape), 2: np.zeros(SHAPE.filter_shape), 3: want, "y": want.copy()}
    )
    fake.memory_y = want
    install(monkeypatch, fake)
    return fake


def test_settings_and_streams(torch):
    made = cudnn.Convolution(SHAPE, 1, 2)
    assert (torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32) == (True, False)
    assert torch.backends.cudnn.benchmark_limit == 0, "cuDNN tries all of its plans"
    made.launch(SimpleNamespace(handle=77))
    made.launch(None)
    assert torch.streams == [77, "default"]


@pytest.mark.parametrize("layout", cudnn.LAYOUTS)
def test_a_right_result_passes(torch, layout):
    way = cudnn.Way(layout)
    verdict = cudnn.Convolution(SHAPE, 1, 2, way).check(3, 1e-6)
    assert verdict.name == f"cuDNN (PyTorch, FP32), {layout}"


def test_an_unknown_layout_is_refused():
    with pytest.raises(ValueError, match=r"NHWC.*expected NCHW or channels_last"):
        cudnn.Way("NHWC")


@pytest.mark.parametrize("channels", [1, 3])
def test_the_layouts_differ_in_their_strides_for_one_channel_too(channels):
    shape = (2, channels, 5, 7)
    cells = np.arange(np.prod(shape)).reshape(shape)
    last = np.ascontiguousarray(cells.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    expected = {"NCHW": cells, "channels_last": last}
    found = {layout: cudnn.strides(shape, layout) for layout in cudnn.LAYOUTS}
    assert found["NCHW"] != found["channels_last"]
    assert found["channels_last"][1] == 1
    for layout, array in expected.items():
        # NumPy, too, may give an axis of one cell any stride.
        axes = [axis for axis in range(4) if shape[axis] > 1]
        strides = [array.strides[axis] // array.itemsize for axis in axes]
        assert [found[layout][axis] for axis in axes] == strides


def test_cells_and_filter_get_the_strides_of_their_layout(torch):
    seen = []
    torch.nn.functional.conv2d = lambda x, filter, stride: seen.append((x.strides, filter.strides))
    for layout in cudnn.LAYOUTS:
        cudnn.Convolution(SHAPE, 1, 2, cudnn.Way(layout)).launch(None)
        shapes = SHAPE.x_shape, SHAPE.filter_shape
        assert seen.pop() == tuple(cudnn.strides(shape, layout) for shape in shapes)


@pytest.mark.gpu
@pytest.mark.parametrize("layout", cudnn.LAYOUTS)
def test_pytorch_sees_the_layout_of_one_channel(layout):
    torch = pytest.importorskip("torch")
    made = cudnn.laid_out(torch.arange(70.0).reshape(2, 1, 5, 7), layout)
    assert made.stride() == cudnn.strides((2, 1, 5, 7), layout)
    assert torch.equal(made, torch.arange(70.0).reshape(2, 1, 5, 7))


def test_halves_are_padded_where_their_channels_or_maps_need_it():
    def padded(C, M, mode="FP16"):
        shape = ConvShape(B=1, C=C, M=M, H=9, W=9, K=3)
        return [way.padded for way in cudnn.ways(mode, shape) if way.padded]

    assert padded(1, 4) == ["channels", "channels and maps"]
    assert padded(12, 24) == ["channels"]
    assert padded(8, 12) == ["channels and maps"]
    assert padded(8, 16) == padded(1, 4, "FP32") == padded(1, 4, "TF32") == []


def test_padding_adds_zeros_and_leaves_the_outputs_as_they_are(torch):
    seen = {}

    def conv2d(x, filter, stride):
        seen["x"], seen["filter"] = x.array, filter.array
        maps = len(filter.array)
        B, _, H, W = SHAPE.y_shape
        y = np.full((B, maps, H, W), 7.0, np.float32)
        y[:, : SHAPE.M] = torch.memory_y
        return Tensor(y)

    torch.nn.functional.conv2d = conv2d
    way = cudnn.Way("channels_last", "channels and maps")
    cudnn.Convolution(SHAPE, 1, 2, way, "FP16").check(3, 1e-6)
    assert seen["x"].shape[1] % 8 == seen["filter"].shape[0] % 8 == seen["filter"].shape[1] % 8 == 0
    assert not seen["x"][:, SHAPE.C :].any()
    assert not seen["filter"][SHAPE.M :].any()
    assert not seen["filter"][:, SHAPE.C :].any()


def test_every_way_is_timed_and_the_fastest_is_compiled_if_wished(torch, monkeypatch):
    times = {"NCHW": 3.0, "channels_last": 2.0, "channels_last, torch.compile": 2.5}
    seen = []

    def time_gpu(launch, *, verdict, name, budget_s):
        seen.append(name.partition("), ")[2])
        return SimpleNamespace(median=times[seen[-1]])

    monkeypatch.setattr(cudnn.timing, "time_gpu", time_gpu)
    monkeypatch.setattr(cudnn, "compiled", lambda function: function)
    made = [one for one, *_ in cudnn.contenders(SHAPE, 1, 2, 3, 1e-6)]
    assert seen == list(times)[:2] == [one.row["layout"] for one in made]
    seen.clear()
    made = [one for one, *_ in cudnn.contenders(SHAPE, 1, 2, 3, 1e-6, compile_fastest=True)]
    assert seen == list(times) == [str(one.way) for one in made]


def test_each_compilation_has_a_code_object_of_its_own(torch, monkeypatch):
    # PyTorch would give the second one the code of the first one, with or without TF32.
    codes = []
    torch._inductor = SimpleNamespace(config=SimpleNamespace(force_disable_caches=False))
    torch.compile = lambda function, **options: codes.append(function.__code__) or function
    monkeypatch.setitem(sys.modules, "torch._inductor", torch._inductor)
    monkeypatch.setitem(sys.modules, "torch._inductor.config", torch._inductor.config)
    calls = [cudnn.compiled(lambda a, b: a - b) for _ in range(2)]
    assert [call(5, 3) for call in calls] == [2, 2]
    assert codes[0] is not codes[1]
    assert torch._inductor.config.force_disable_caches


@pytest.mark.parametrize("value", [np.nan, 0.5])
@pytest.mark.parametrize("image", [0, 2])
def test_one_wrong_output_is_found(torch, monkeypatch, capsys, value, image):
    monkeypatch.setattr(cudnn, "_IMAGES_AT_A_TIME", 1)
    wrong = torch.memory_y.copy()
    wrong[image, 1, 2, 3] += value
    torch.nn.functional.conv2d = lambda x, filter, stride: Tensor(wrong)
    with pytest.raises(checking.CheckError, match="1 of"):
        cudnn.Convolution(SHAPE, 1, 2).check(3, 1e-6)
    assert list(cudnn.contenders(SHAPE, 1, 2, 3, 1e-6)) == []  # left out, and said
    assert "NCHW is left out: FAIL" in capsys.readouterr().out


def test_modes_set_tf32_at_each_launch(torch):
    made = {mode: cudnn.Convolution(SHAPE, 1, 2, mode=mode) for mode in cudnn.MODES}
    for mode, on in (("TF32", True), ("FP32", False), ("TF32", True), ("FP16", False)):
        made[mode].launch(None)
        assert torch.backends.cudnn.allow_tf32 is on, mode


def test_halves_go_in_for_fp16_only(torch):
    seen = []
    torch.nn.functional.conv2d = lambda x, filter, stride: seen.append(
        (x.array.dtype, filter.array.dtype)
    )
    for mode in ("FP32", "FP16"):
        cudnn.Convolution(SHAPE, 1, 2, mode=mode).launch(None)
    assert seen == [(np.float64, np.float64), (np.float16, np.float16)]


def test_a_mode_s_own_rounding_passes_and_more_does_not(gpu, monkeypatch):
    ones = np.ones(SHAPE.y_shape, np.float32)
    for mode, size in (("FP32", 0.9e-4), ("TF32", 1.0e-3), ("FP16", 1.8e-3)):
        filter = np.zeros(SHAPE.filter_shape)
        filter[:, 0, 0, 0] = 1
        fake = FakeTorch(
            {1: np.ones(SHAPE.x_shape), 2: filter, 3: ones, "y": (1 + np.float32(size)) * ones}
        )
        install(monkeypatch, fake)
        made = cudnn.Convolution(SHAPE, 1, 2, mode=mode)
        assert made.check(3, 1e-6).name.startswith(f"cuDNN (PyTorch, {mode})")
        fake.nn.functional.conv2d = lambda x, filter, stride, size=size: Tensor(
            (1 + np.float32(1.3 * size)) * ones
        )
        with pytest.raises(checking.CheckError):
            made.check(3, 1e-6)


def test_an_unknown_mode_is_refused(torch):
    with pytest.raises(ValueError, match=r"mode is 'INT8'; expected FP32, TF32, FP16"):
        cudnn.Convolution(SHAPE, 1, 2, mode="INT8")


def test_no_record_calls_a_layout_of_one_channel_what_pytorch_did_not_set():
    """Rows from before `laid_out` name no kernels; their channels_last of one channel was NCHW."""
    for path in sorted(results.MEASURED.glob("*.json")):
        if "cuDNN" not in path.read_text(encoding="utf-8"):
            continue
        for row in results.load(path).rows():
            layer = conv2d.LAYERS.get(row.get("layer"))
            if layer and layer.C == 1 and row.get("layout") == "channels_last":
                assert row.get("kernels"), (path.name, row["series"], row["layer"], row["batch"])
