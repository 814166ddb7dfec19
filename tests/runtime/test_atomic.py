"""Files are complete or not there, whatever happens while they are written."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lowdim
from lowdim import plot, report, tables
from lowdim.runtime import atomic
from lowdim.runtime.atomic import WouldOverwrite, replace_file
from lowdim.runtime.interrupts import defer_interrupts

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX")


def run_python(code, *arguments, **options):
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def write(path, text, force=True):
    with replace_file(path, force=force) as temporary:
        temporary.write_text(text)


def test_a_file_is_written_under_another_name_in_the_same_folder(tmp_path):
    path = tmp_path / "map.csv"
    with replace_file(path, force=False) as temporary:
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".csv"
        assert temporary != path
        assert not path.exists()
        temporary.write_text("complete")
    assert path.read_text() == "complete"
    assert os.listdir(tmp_path) == ["map.csv"]


@pytest.mark.parametrize("error", [OSError("cable"), KeyboardInterrupt(), ValueError()])
def test_after_an_exception_the_old_file_is_there_and_no_other(error, tmp_path):
    path = tmp_path / "map.csv"
    path.write_text("old")

    def half():
        with replace_file(path, force=True) as temporary:
            temporary.write_text("half of")
            raise error

    with pytest.raises(type(error)):
        half()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["map.csv"]


def test_an_existing_file_is_kept_without_force(tmp_path):
    write(tmp_path / "f", "old")
    with pytest.raises(WouldOverwrite, match="force=True"):
        write(tmp_path / "f", "new", force=False)
    assert (tmp_path / "f").read_text() == "old"


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "no hard links"])
def test_a_file_that_appears_meanwhile_is_kept_without_force(links, tmp_path, monkeypatch):
    if not links:

        def refuse(*_):
            raise PermissionError(errno.EPERM, "not supported")

        monkeypatch.setattr(os, "link", refuse)
    write(tmp_path / "other", "fine", force=False)
    path = tmp_path / "f"

    def race():
        with replace_file(path, force=False) as temporary:
            temporary.write_text("mine")
            path.write_text("theirs")

    with pytest.raises(WouldOverwrite):
        race()
    assert path.read_text() == "theirs"
    assert sorted(os.listdir(tmp_path)) == ["f", "other"]


def test_a_long_name_is_possible(tmp_path):
    path = tmp_path / ("é" * 120 + "." + "x" * 12)
    write(path, "complete")
    assert os.listdir(tmp_path) == [path.name]


@posix
def test_permissions_are_those_of_the_umask_or_of_the_old_file(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "new", "x")
        (tmp_path / "old").write_text("")
        (tmp_path / "old").chmod(0o604)
        write(tmp_path / "old", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "old").stat().st_mode) == 0o604


@posix
def test_links_are_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    link, target = tmp_path / "link.csv", tmp_path / "folder" / "target.csv"
    link.symlink_to(target)
    for text in ("first", "second"):
        write(link, text)
        assert target.read_text() == text
        assert link.is_symlink()
    assert os.listdir(tmp_path / "folder") == ["target.csv"]
    with pytest.raises(WouldOverwrite):
        write(link, "third", force=False)
    (tmp_path / "lost").symlink_to(tmp_path / "nowhere" / "f")
    with pytest.raises(FileNotFoundError, match="lost is a link into"):
        write(tmp_path / "lost", "x")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(OSError, match="symbolic links"):
        write(tmp_path / "loop", "x")
    assert (tmp_path / "loop").is_symlink()


@posix
def test_devices_and_folders_are_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        write(tmp_path / "pipe", "x")
    with pytest.raises(IsADirectoryError):
        write(tmp_path, "x")
    with pytest.raises(FileNotFoundError, match="does not exist; create it"):
        write(tmp_path / "no" / "f", "x")


@pytest.mark.parametrize("step", ["write", "fsync"])
def test_a_full_disk_names_the_file_and_keeps_the_old_one(step, tmp_path, monkeypatch):
    path = tmp_path / "map.csv"
    path.write_text("old")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if step == "fsync":
        monkeypatch.setattr(os, "fsync", full)

    def half():
        with replace_file(path, force=True) as temporary:
            temporary.write_text("half of")
            if step == "write":
                full()

    with pytest.raises(OSError, match="No space left on device") as caught:
        half()
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == str(path)
    assert "the existing file is unchanged" in str(caught.value)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["map.csv"]


LIMITED = """
import resource, signal, sys
import numpy as np
import lowdim
from lowdim import tables
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
Y = np.random.RandomState(0).uniform(size=(50_000, 2))
graph = lowdim.neighbors(Y[:20_000], k=3)
model = lowdim.PCA(n_components=2).fit(Y)
path = sys.argv[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
save = {"graph": lambda: graph.save(path), "model": lambda: model.save(path)}
try:
    save.get(sys.argv[2], lambda: tables.write(path, Y, force=True))()
except OSError as error:
    print(error)
"""


@posix
@pytest.mark.parametrize(
    "kind", ["graph", "model", ".csv", ".h5", ".npy", ".npz", ".parquet", ".mat"]
)
def test_every_writer_survives_a_file_that_cannot_grow(kind, tmp_path):
    path = tmp_path / f"f{kind if kind[0] == '.' else ''}"
    path.write_text("old")
    result = run_python(LIMITED, path, kind)
    assert result.returncode == 0, result.stderr
    assert str(path) in result.stdout
    assert "not written" in result.stdout
    assert "the existing file is unchanged" in result.stdout
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [path.name]


def test_files_of_the_user_with_similar_names_survive(tmp_path):
    theirs = ["model.part", ".model.part", "model.lowdim.part", ".model.lowdim-1.lowdim"]
    for name in theirs:
        (tmp_path / name).write_text("precious")
    X = np.random.RandomState(0).uniform(size=(20, 3))
    for name in ("model", "model.lowdim"):
        lowdim.PCA(n_components=2).fit(X).save(tmp_path / name)
    assert all((tmp_path / name).read_text() == "precious" for name in theirs)
    assert sorted(os.listdir(tmp_path)) == sorted([*theirs, "model", "model.lowdim"])


KILLED = """
import os, signal, sys
from lowdim.runtime.atomic import replace_file
with replace_file(sys.argv[1], force=True) as temporary:
    temporary.write_text("half of")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@posix
def test_a_killed_process_leaves_the_old_file(tmp_path):
    path = tmp_path / "map.csv"
    path.write_text("old")
    assert run_python(KILLED, path).returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    write(path, "new")
    assert path.read_text() == "new"


def test_another_writer_may_be_quicker(tmp_path):
    path = tmp_path / "map.csv"
    with replace_file(path, force=True) as temporary:
        temporary.write_text("slow")
        write(path, "quick")
        assert temporary.exists()
    assert path.read_text() == "slow"
    assert os.listdir(tmp_path) == ["map.csv"]


def test_readers_and_writers_in_threads_see_complete_files_only(tmp_path):
    path = tmp_path / "f"
    texts = [str(i) * 50_000 for i in range(8)]
    write(path, texts[0])
    done = threading.Event()

    def read():
        seen = set()
        while not done.is_set():
            seen.add(path.read_text())
        return seen

    with ThreadPoolExecutor(12) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        list(pool.map(lambda text: [write(path, text) for _ in range(5)], texts))
        done.set()
        seen = set().union(*(reader.result() for reader in readers))
    assert seen <= set(texts)
    assert os.listdir(tmp_path) == ["f"]


WRITER = """
import sys
from lowdim.runtime.atomic import WouldOverwrite, replace_file
path, text, force = sys.argv[1], sys.argv[2] * 100_000, sys.argv[3] == "force"
sys.stdin.readline()
try:
    for _ in range(20 if force else 1):
        with replace_file(path, force=force) as temporary:
            temporary.write_text(text)
except WouldOverwrite:
    print("too late")
"""


@pytest.mark.parametrize("force", [True, False])
def test_processes_that_write_the_same_file(force, tmp_path):
    path = tmp_path / "f"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, path, text, "force" if force else "once"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for text in "abc"
    ]
    for process in processes:  # all are ready before the first begins
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate()[0].strip() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert path.read_text() in ["a" * 100_000, "b" * 100_000, "c" * 100_000]
    assert sorted(said) == (["", "", ""] if force else ["", "too late", "too late"])
    assert os.listdir(tmp_path) == ["f"]


def test_every_output_is_written_atomically(tmp_path, monkeypatch):
    """Models, graphs, tables, reports, pictures and animations end in one rename each."""
    named = []
    publish = atomic._publish
    monkeypatch.setattr(
        atomic, "_publish", lambda *args: (named.append(args[1].name), publish(*args))
    )
    X = np.random.RandomState(0).uniform(size=(20, 3))
    model = lowdim.PCA(n_components=2).fit(X)
    model.save(tmp_path / "model")
    lowdim.neighbors(X, k=3).save(tmp_path / "graph.npz")
    tables.write(tmp_path / "t.csv", X)
    run = report.Run("PCA", "PCA", {}, model.embedding_)
    report.write(tmp_path / "r.html", [run])
    plot.animate([X[:, :2], X[:, 1:]], tmp_path / "film.gif")
    plot.save(plot.scatter(X[:, :2]).figure, tmp_path / "map.png")
    assert named == ["model", "graph.npz", "t.csv", "r.html", "film.gif", "map.png"]
    assert sorted(os.listdir(tmp_path)) == sorted(named)


@posix
def test_ctrl_c_waits_for_the_end_of_the_block():
    steps = []

    def press():
        with defer_interrupts():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            steps.append("written")
        steps.append("not reached")

    with pytest.raises(KeyboardInterrupt):
        press()
    assert steps == ["written"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@posix
def test_a_handler_of_the_program_is_called_once_and_kept():
    calls = []
    before = signal.signal(signal.SIGINT, lambda *_: calls.append(1))
    ours = signal.getsignal(signal.SIGINT)
    try:
        with defer_interrupts():
            signal.raise_signal(signal.SIGINT)
            assert calls == []
        assert calls == [1]
        assert signal.getsignal(signal.SIGINT) is ours
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_may_use_the_context():
    with ThreadPoolExecutor(1) as pool:

        def block():
            with defer_interrupts():
                return "done"

        assert pool.submit(block).result() == "done"
