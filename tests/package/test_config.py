"""Options: defaults, validation at assignment, environment, watchers."""

import os
import subprocess
import sys

import pytest

import omni.warp_core as wp
from omni.warp_core import config


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    for name in config.OPTIONS:
        monkeypatch.setattr(config, name, getattr(config, name))


def test_reachable_as_attribute_of_the_package():
    assert wp.config is config
    assert "mode" in dir(wp.config)


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("mode", "debgu", "'release', 'debug', 'interpret'"),
        ("num_threads", -1, "an integer from 0"),
        ("num_threads", True, "an integer from 0"),
        ("num_threads", 1.5, "an integer from 0"),
        ("kernel_cache_dir", 7, "a directory name"),
        ("kernel_cache_dir", "", "a directory name"),
        ("print_launches", "yes", "True or False"),
    ],
)
def test_a_wrong_value_is_refused_and_changes_nothing(name, value, wanted):
    before = getattr(config, name)
    with pytest.raises(ValueError, match=wanted) as caught:
        setattr(wp.config, name, value)
    assert f"wp.config.{name} = {value!r}" in str(caught.value)
    assert getattr(config, name) == before


def test_an_unknown_option_names_the_nearest():
    with pytest.raises(AttributeError, match="did you mean print_launches"):
        wp.config.print_launch = True
    with pytest.raises(AttributeError):
        wp.config.no_such_thing


def test_options_of_other_compilers_are_accepted():
    wp.config.verify_cuda = True
    wp.config.ptx_target_arch = 75
    assert wp.config.ptx_target_arch == 75


def test_watchers_hear_of_changes():
    heard = []
    config.watch("kernel_cache_size", heard.append)
    wp.config.kernel_cache_size = 4
    with pytest.raises(ValueError):
        wp.config.kernel_cache_size = -1
    assert heard == [4]


def test_directories_are_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wp.config.kernel_cache_dir = "kernels"
    assert wp.config.kernel_cache_dir == str(tmp_path / "kernels")
    wp.config.kernel_cache_dir = None
    assert wp.config.kernel_cache_dir is None


def read_in_fresh_process(expression: str, **environment: str) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith("OMNI_WARP") and k != "XDG_CACHE_HOME"} | environment
    code = f"from omni.warp_core import config; print({expression})"
    return subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_the_environment_gives_defaults(tmp_path):
    named = str(tmp_path)
    assert read_in_fresh_process("config.kernel_cache_dir", OMNI_WARP_CACHE_DIR=named) == named
    assert read_in_fresh_process("config.kernel_cache_dir", OMNI_WARP_CACHE_DIR="") == "None"
    assert read_in_fresh_process("config.kernel_cache_dir", XDG_CACHE_HOME=named) == f"{named}/omni-warp-core"
    assert read_in_fresh_process("config.num_threads", OMNI_WARP_NUM_THREADS="3") == "3"
    assert read_in_fresh_process("config.num_threads", OMNI_WARP_NUM_THREADS="many") == "0"
    assert read_in_fresh_process("config.cpu_target", OMNI_WARP_CPU_TARGET="avx2") == "avx2"
    assert read_in_fresh_process("config.cpu_target", OMNI_WARP_CPU_TARGET="best") == "None"


def test_log_level_follows_verbose_and_quiet():
    wp.config.log_level = wp.LOG_INFO
    assert config.threshold() == wp.LOG_INFO
    wp.config.quiet = True
    assert config.threshold() == wp.LOG_ERROR
    wp.config.verbose = True
    assert config.threshold() == wp.LOG_DEBUG


def test_grades_of_determinism_are_kept_and_equal_truth(monkeypatch):
    assert wp.config.deterministic is wp.DeterministicMode.NOT_GUARANTEED and wp.config.deterministic == False  # noqa: E712
    monkeypatch.setattr(wp.config, "deterministic", True)
    assert wp.config.deterministic is wp.DeterministicMode.RUN_TO_RUN
    monkeypatch.setattr(wp.config, "deterministic", wp.DeterministicMode.GPU_TO_GPU)
    assert wp.config.deterministic is wp.DeterministicMode.GPU_TO_GPU
