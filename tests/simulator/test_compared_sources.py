"""The sources whose results are compared with a GPU's compile, and have all their kernels.

The comparison itself needs results of a GPU, so that it seldom runs: counters/strangers_engine.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from helpers.simulator.compiler import compile_source

sys.path.insert(0, str(Path(__file__).resolve().parent / "counters"))

import device_functions
import tensor_products


@pytest.mark.parametrize("group", device_functions.GROUPS)
def test_a_group_of_device_functions_compiles(group):
    rows = device_functions.GROUPS[group]
    compiled = compile_source(device_functions.source(group), rows[0].options, "functions.cu")
    names = {kernel.name for kernel in compiled.kernels}
    assert rows and {row.kernel for row in rows} <= names


def test_the_tensor_products_compile():
    compiled = compile_source(tensor_products.SOURCE.read_text(), (), "products.cu")
    names = {kernel.name for kernel in compiled.kernels}
    assert {product.kernel for product in tensor_products.PRODUCTS} == names
