import pytest

from tests.permission.stage import Stage


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path.resolve())
