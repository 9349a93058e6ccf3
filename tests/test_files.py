"""Files that appear whole or not at all: links, interruptions, processes that died, many at once."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from omni.warp_core import files
from omni.warp_core.files import Unfinished, UntrustedError, make_private, read_private, sweep, write


def parts(folder: Path) -> list[Path]:
    return [p for p in folder.iterdir() if ".part" in p.name]


def test_a_file_appears_whole(tmp_path):
    target = tmp_path / "result.txt"
    with Unfinished(str(target)) as unfinished:
        Path(unfinished.path).write_text("half")
        assert not target.exists() and unfinished.path.endswith(".txt")
        assert os.stat(os.path.dirname(unfinished.path)).st_mode & 0o777 == 0o700
        Path(unfinished.path).write_text("whole")
        unfinished.commit()
    assert target.read_text() == "whole" and list(tmp_path.iterdir()) == [target]


def test_without_commit_nothing_changes(tmp_path):
    target = tmp_path / "result.txt"
    target.write_text("before")
    with pytest.raises(KeyboardInterrupt), Unfinished(str(target)) as unfinished:
        Path(unfinished.path).write_text("half")
        Path(unfinished.path + ".library.part").write_text("of a library")
        raise KeyboardInterrupt
    assert target.read_text() == "before" and list(tmp_path.iterdir()) == [target]


def test_discarding_twice_harms_no_other_directory(tmp_path):
    """A closed descriptor's number may mean another directory."""
    unfinished = Unfinished(str(tmp_path / "x"))
    unfinished.discard()
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("keep")
    opened = [os.open(tmp_path / "precious", os.O_RDONLY) for _ in range(8)]
    unfinished.discard()
    for descriptor in opened:
        os.close(descriptor)
    assert (tmp_path / "precious" / "file").read_text() == "keep"


def test_write_replaces_a_link_and_not_its_target(tmp_path):
    victim, target = tmp_path / "victim", tmp_path / "target"
    victim.write_text("mine")
    target.symlink_to(victim)
    write(str(target), b"new")
    assert victim.read_text() == "mine" and target.read_bytes() == b"new" and not target.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o600


def test_a_read_only_file_is_not_replaced(tmp_path):
    target = tmp_path / "published"
    target.write_text("mine")
    target.chmod(0o444)
    with pytest.raises(PermissionError, match="the file is read-only"):
        write(str(target), b"new")
    assert target.read_text() == "mine" and list(tmp_path.iterdir()) == [target]


def test_names_cannot_be_foreseen(tmp_path):
    names = set()
    for _ in range(20):
        with Unfinished(str(tmp_path / "x")) as unfinished:
            names.add(os.path.dirname(unfinished.path))
    assert len(names) == 20 and str(os.getpid()) not in {Path(n).name.strip(".").split("-")[-1] for n in names}


def test_a_planted_name_is_never_used(tmp_path, monkeypatch):
    """Even one that was foreseen."""
    victim = tmp_path / "victim"
    victim.mkdir()
    monkeypatch.setattr(os, "urandom", lambda n: b"\0" * n)
    (tmp_path / f"{files._PREFIX}{'00' * 8}{files._SUFFIX}").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write(str(tmp_path / "x"), b"new")
    assert list(victim.iterdir()) == []


def test_a_folder_that_refuses_is_left_as_it_was(tmp_path, monkeypatch):
    def refuse(path, flags, *rest, **more):
        if path == files._LOCK:
            raise OSError(28, "No space left on device")
        return opened(path, flags, *rest, **more)

    opened = os.open
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(OSError, match="No space"):
        Unfinished(str(tmp_path / "x"))
    assert list(tmp_path.iterdir()) == []


def test_no_descriptor_is_left_open(tmp_path):
    before = os.listdir("/proc/self/fd")
    for _ in range(5):
        write(str(tmp_path / "x"), b"new")
        make_private(str(tmp_path / "private"))
        write(str(tmp_path / "private" / "y"), b"new")
        assert read_private(str(tmp_path / "private"), "y", 10) == b"new"
        with pytest.raises(OSError):
            read_private(str(tmp_path / "private"), "gone", 10)
        os.chmod(tmp_path / "private" / "y", 0o666)
        with pytest.raises(UntrustedError):
            read_private(str(tmp_path / "private"), "y", 10)
        sweep(str(tmp_path))
    assert os.listdir("/proc/self/fd") == before


# -- what dead processes left ---------------------------------------------------------------------------------------

WRITES = """
import os, sys, time
from omni.warp_core.files import Unfinished
unfinished = Unfinished(sys.argv[1] + "/out.usdc")
for name in (unfinished.path, unfinished.path + ".x7fE.part"):
    open(name, "wb").write(b"half")
print("ready", flush=True)
time.sleep(600)
"""


def writer(folder: Path) -> subprocess.Popen:
    process = subprocess.Popen([sys.executable, "-c", WRITES, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def test_what_a_killed_process_left_goes(tmp_path):
    with writer(tmp_path) as process:
        (left,) = parts(tmp_path)
        assert sweep(str(tmp_path)) == 0 and len(list(left.iterdir())) == 3, "its process lives"
        process.kill()
    write(str(tmp_path / "another"), b"new")
    assert os.listdir(tmp_path) == ["another"]


def test_what_belongs_to_another_user_stays(tmp_path, monkeypatch):
    with writer(tmp_path) as process:
        process.kill()
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    assert sweep(str(tmp_path)) == 0 and len(parts(tmp_path)) == 1
    monkeypatch.undo()
    assert sweep(str(tmp_path)) == 2 and parts(tmp_path) == []


def test_folders_without_a_lock_stay_unless_they_are_empty(tmp_path):
    """Another user may rename a folder of ours in a directory that all can write."""
    precious, empty, link = (tmp_path / f"{files._PREFIX}{i}{files._SUFFIX}" for i in range(3))
    precious.mkdir()
    (precious / "file").write_text("keep")
    empty.mkdir()
    link.symlink_to(precious)
    (tmp_path / f"{files._PREFIX}3{files._SUFFIX}").write_text("a file")
    assert sweep(str(tmp_path)) == 0
    assert (precious / "file").read_text() == "keep" and link.is_symlink() and not empty.exists()


def test_a_lock_that_is_a_pipe_or_a_link_frees_nothing(tmp_path):
    for i, make in enumerate((os.mkfifo, lambda path: os.symlink("/dev/null", path), os.mkdir)):
        folder = tmp_path / f"{files._PREFIX}{i}{files._SUFFIX}"
        folder.mkdir()
        (folder / "file").write_text("keep")
        make(folder / files._LOCK)
    assert sweep(str(tmp_path)) == 0
    assert all((p / "file").read_text() == "keep" for p in parts(tmp_path))


def rounds(folder: str, seed: int, failures) -> None:
    wrong = 0
    for i in range(60):
        text = f"{seed} {i} ".encode() * 500
        try:
            write(os.path.join(folder, str(seed)), text)
            wrong += Path(folder, str(seed)).read_bytes() != text
        except OSError:
            wrong += 1
    failures.put(wrong)


def test_many_processes_write_and_sweep_at_once(tmp_path):
    """No sweep takes a folder in the making for a dead one."""
    context = multiprocessing.get_context("fork")
    failures = context.Queue()
    workers = [context.Process(target=rounds, args=(str(tmp_path), i, failures)) for i in range(8)]
    for worker in workers:
        worker.start()
    assert [failures.get(timeout=300) for _ in workers] == [0] * 8
    for worker in workers:
        worker.join()
    assert sorted(os.listdir(tmp_path)) == [str(i) for i in range(8)]


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_writers_leave_whole_files(tmp_path, number):
    script = "import sys\nfrom omni.warp_core.files import write\n"
    script += "while True:\n    write(sys.argv[1] + '/x', b'whole' * 20000)\n    print('written', flush=True)\n"
    for delay in range(5):
        command = [sys.executable, "-c", script, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout.readline()
            time.sleep(delay * 0.007)
            process.send_signal(number)
        assert (tmp_path / "x").read_bytes() == b"whole" * 20000
    write(str(tmp_path / "x"), b"new")
    assert os.listdir(tmp_path) == ["x"]
