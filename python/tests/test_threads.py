# SPDX-License-Identifier: Apache-2.0
"""Threads: calls take turns, contexts run at the same time, and the GIL is
free meanwhile."""
import gc
import threading
import weakref

import numpy as np

import bessemer


def in_threads(count, work):
    failures = []

    def safely(i):
        try:
            work(i)
        except BaseException as error:  # pylint: disable=broad-except
            failures.append(error)

    threads = [threading.Thread(target=safely, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_one_engine_in_many_threads(engine, images):
    expected = [engine(images[i:i + 1]).copy() for i in range(8)]

    def work(i):
        for _ in range(200):
            assert (engine(images[i:i + 1]) == expected[i]).all()

    in_threads(8, work)


def test_contexts_of_one_engine(engine, images):
    expected = [engine(images[i:i + 1]).copy() for i in range(4)]

    def work(i):
        own = engine.context()
        for _ in range(200):
            assert (own(images[i:i + 1]) == expected[i]).all()

    in_threads(4, work)


def ticks_during(work):
    """How often this thread gets to work while another one is in one call."""
    state = {"running": False, "ticks": 0}
    pause = threading.Event()

    def call():
        state["running"] = True
        work()
        state["running"] = False

    thread = threading.Thread(target=call)
    thread.start()
    while thread.is_alive():
        pause.wait(0.001)
        if state["running"]:
            state["ticks"] += 1
    thread.join()
    return state["ticks"]


PRODUCT = b"graph(%x : Float(1500, 1500)):\n" \
          b"  %y : Float(1500, 1500) = aten::mm(%x, %x)\n  return (%y)\n"


def test_others_work_while_a_model_is_compiled():
    assert ticks_during(lambda: bessemer.compile(PRODUCT, threads=1)) > 5


def test_others_work_while_an_engine_runs():
    engine = bessemer.compile(PRODUCT, timing=False, threads=1).prepare()
    x = np.ones((1500, 1500), np.float32)
    assert ticks_during(lambda: engine(x)) > 5


def test_engines_go_when_nobody_has_them(digits, images):
    engine = bessemer.compile(digits, timing=False)
    engine(images[:1])
    alive = weakref.ref(engine)
    gc.disable()
    try:
        del engine
        assert alive() is None
    finally:
        gc.enable()


def test_runs_leave_nothing_behind(engine, images):
    """Memory of results, of failed runs and of refused arguments is freed."""
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1])

    def work():
        for _ in range(3000):
            engine(images[:1])
            try:
                engine(images[:2])
            except bessemer.Error:
                pass
            try:
                engine("text")
            except TypeError:
                pass

    work()
    before = resident()
    work()
    assert resident() - before < 256  # pages: 1 MiB for 9000 calls
