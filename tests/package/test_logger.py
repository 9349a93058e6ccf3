"""Where notes and warnings go."""

import logging
import os
import warnings

import pytest

import omni.warp_core as wp
from omni.warp_core import logger


class Collected:
    def __init__(self):
        self.told = []

    def debug(self, message):
        self.told.append(("debug", message))

    def info(self, message):
        self.told.append(("info", message))

    def warning(self, message, category=None, stacklevel=1):
        self.told.append(("warning", message, category))

    def error(self, message):
        self.told.append(("error", message))


@pytest.fixture
def collected():
    with wp.ScopedLogger(Collected()) as scope:
        yield scope.logger.told


def tell_all():
    logger.debug("a")
    logger.info("b")
    logger.warn("c", RuntimeWarning)
    logger.error("d")


ALL = [("debug", "a"), ("info", "b"), ("warning", "c", RuntimeWarning), ("error", "d")]


@pytest.mark.parametrize(
    ("level", "count"), [(wp.LOG_DEBUG, 4), (wp.LOG_INFO, 3), (wp.LOG_WARNING, 2), (wp.LOG_ERROR, 1), (50, 0)]
)
def test_messages_below_the_level_do_not_reach_the_logger(collected, level, count):
    with wp.ScopedLogLevel(level):
        tell_all()
    assert collected == ALL[4 - count :]


def test_the_default_logger_prints_on_stderr(capsys):
    with wp.ScopedLogLevel(wp.LOG_DEBUG), pytest.warns(RuntimeWarning, match="c"):
        tell_all()
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "a\nb\nd\n")


def test_warnings_name_the_line_that_they_are_about():
    def library(depth):
        logger.warn("here", stacklevel=depth)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        library(1)
        library(2)
    first = library.__code__.co_firstlineno
    assert [(os.path.basename(w.filename), w.lineno - first) for w in told] == [
        ("test_logger.py", 1),
        ("test_logger.py", 6),
    ]
    assert told[0].category is UserWarning


def test_loggers_of_the_standard_module(caplog):
    def library():
        logger.warn("careful", RuntimeWarning, stacklevel=1)

    with wp.ScopedLogger(logging.getLogger("simulation")), wp.ScopedLogLevel(wp.LOG_INFO), caplog.at_level("INFO"):
        logger.info("well")
        library()
    assert [(r.name, r.levelname, r.message) for r in caplog.records] == [
        ("simulation", "INFO", "well"),
        ("simulation", "WARNING", "careful"),
    ]
    assert caplog.records[1].lineno == library.__code__.co_firstlineno + 1


def test_scopes_and_what_is_no_logger():
    default, mine = wp.get_logger(), Collected()
    with wp.ScopedLogger(mine):
        assert wp.get_logger() is mine
        with wp.ScopedLogger(None):
            assert wp.get_logger() is default
        assert wp.get_logger() is mine
    assert wp.get_logger() is default
    wp.set_logger(mine)
    assert wp.get_logger() is mine
    for wrong in (3, "log", object()):
        with pytest.raises(TypeError, match=r"has no debug or info or warning or error; a logger has debug\(message\)"):
            wp.set_logger(wrong)
        with pytest.raises(TypeError, match=type(wrong).__name__):
            wp.ScopedLogger(wrong)
    assert wp.get_logger() is mine
    wp.set_logger(None)
    assert wp.get_logger() is default
    assert isinstance(mine, wp.Logger) and not isinstance(3, wp.Logger)


def test_a_log_level_ends_with_its_block():
    with pytest.raises(KeyError), wp.ScopedLogLevel(wp.LOG_DEBUG):
        assert wp.config.log_level == wp.LOG_DEBUG
        raise KeyError
    assert wp.config.log_level == wp.LOG_WARNING
    with pytest.raises(ValueError, match="log_level"), wp.ScopedLogLevel("loud"):
        pass


# -- notes and warnings of the package --------------------------------------------------------------------------------


def kernel_with_a_warning():
    @wp.kernel
    def third(n: int, out: wp.array[int]):
        out[0] = n / 3

    return third


@pytest.mark.cpu
def test_warnings_of_kernels(collected):
    wp.launch(kernel_with_a_warning(), dim=1, inputs=[7, wp.zeros(1, dtype=int)], device="cpu")
    ((severity, message, category),) = collected
    assert (severity, category) == ("warning", wp.KernelWarning)
    line = kernel_with_a_warning.__code__.co_firstlineno + 3
    assert message.startswith(f"{os.path.abspath(__file__)}:{line}: ")


@pytest.mark.cpu
def test_quiet_keeps_warnings_back(collected, monkeypatch):
    monkeypatch.setattr(wp.config, "quiet", True)
    wp.launch(kernel_with_a_warning(), dim=1, inputs=[7, wp.zeros(1, dtype=int)], device="cpu")
    assert collected == []


@pytest.mark.cpu
def test_notes_of_compiled_kernels_and_launches(collected, monkeypatch):
    @wp.kernel
    def fill(x: wp.array[float], value: float):
        x[wp.tid()] = value

    x = wp.zeros(3, device="cpu")
    with wp.ScopedLogLevel(wp.LOG_INFO):
        wp.launch(fill, dim=3, inputs=[x, 1.0], device="cpu")
    ((severity, message),) = collected
    assert severity == "info" and message.startswith("kernel `fill`")
    monkeypatch.setattr(wp.config, "print_launches", True)
    wp.launch(fill, dim=3, inputs=[x, 1.0], device="cpu")
    assert collected[1:] == [("info", f"kernel: {fill.key} dim: 3 device: cpu")]


@pytest.mark.cpu
def test_caches_that_are_not_used(collected, monkeypatch, tmp_path):
    tmp_path.chmod(0o777)
    monkeypatch.setattr(wp.config, "kernel_cache_dir", str(tmp_path))

    @wp.kernel
    def double(x: wp.array[float], y: wp.array[float]):
        y[wp.tid()] = 2.0 * x[wp.tid()]

    wp.launch(double, dim=3, inputs=[wp.zeros(3, device="cpu"), wp.zeros(3, device="cpu")], device="cpu")
    severities = {(severity, category) for severity, message, category in collected if "kernel cache" in message}
    assert severities == {("warning", RuntimeWarning)}
