"""A course that never was, graded once for all tests that look at it."""

import pytest

from helpers.course import box
from tests.course import invented


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    try:
        box.find_level()
    except box.NoBox as error:
        pytest.skip(str(error).splitlines()[0])
    return invented.run(tmp_path_factory.mktemp("course"), 0)
