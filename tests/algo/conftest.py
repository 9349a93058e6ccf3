import pytest

from tests import on_gpu
from tests.native.objects import native


@pytest.fixture(params=[4] if on_gpu.MODE else [1, 2, 3, 4])  # a GPU does not use them
def threads(request):
    """Runs a test with each of these numbers of threads."""
    before = native.get_num_threads()
    native.set_num_threads(request.param)
    yield request.param
    native.set_num_threads(before)
