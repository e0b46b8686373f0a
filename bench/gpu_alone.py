# SPDX-License-Identifier: Apache-2.0
"""What is timed on a GPU is timed alone, while processes that compile stand
still: they use the GPU, too, and be it that they ask which one it is. Calls
with other GPUs do not wait for each other."""
import contextlib
import fcntl
import os
import signal
import subprocess
import threading
import time

WITHIN = threading.Lock()  # a lock of files does not tell threads apart


def here(work, what):
    """A file or folder of a folder's calls with this GPU."""
    return os.path.join(work, what + "-" + os.environ.get(
        "CUDA_VISIBLE_DEVICES", "all").replace("/", "_"))


def workers_of(work):
    return here(work, "workers")


def forget_workers(work):
    """Those that have ended without saying so."""
    folder = workers_of(work)
    for process in os.listdir(folder) if os.path.isdir(folder) else []:
        if not os.path.isdir(os.path.join("/proc", process)):
            os.remove(os.path.join(folder, process))


@contextlib.contextmanager
def by_itself(path):
    """What only one thread of one process does at a time."""
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def descendants(roots):
    """The processes of roots and all that they have started."""
    children = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as f:
                parent = int(f.read().rsplit(")", 1)[1].split()[1])
        except OSError:  # it has ended meanwhile
            continue
        children.setdefault(parent, []).append(int(entry))
    found, waiting = [], list(roots)
    while waiting:
        process = waiting.pop()
        found.append(process)
        waiting += children.get(process, [])
    return found


def signal_all(work, number, but=()):
    """Sends a signal to the compiling processes of a folder, and theirs."""
    workers = workers_of(work)
    roots = [int(p) for p in os.listdir(workers)] if os.path.isdir(
        workers) else []
    for process in descendants(r for r in roots if r not in but):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


@contextlib.contextmanager
def working(work, process=None):
    """Is one of those that stand still while others are timed."""
    mark = os.path.join(workers_of(work), str(process or os.getpid()))
    os.makedirs(os.path.dirname(mark), exist_ok=True)
    with open(mark, "w"):
        pass
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):  # another call was faster
            os.remove(mark)


@contextlib.contextmanager
def alone(work):
    with WITHIN, by_itself(here(work, "alone")):
        signal_all(work, signal.SIGSTOP, but=(os.getpid(),))
        time.sleep(0.05)  # what they have asked of the GPU comes to its end
        try:
            yield
        finally:
            signal_all(work, signal.SIGCONT)


def run_working(work, command, **options):
    """subprocess.run of a process that stands still while others are timed."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, **options)
    with working(work, process.pid):
        out, error = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, out, error)
