"""No noise is handed out twice: not to two threads, not after an exception, not to parent and child.

All sources are found by discovery, so that a new one is tested the moment it exists.
"""

import importlib
import inspect
import itertools
import os
import pkgutil
import sys
import threading

import sottovoce
from children import Child, at_once
from sampling import every
from sottovoce.auditing._sources import secure_pool
from sottovoce.errors import ForkRefused
from sottovoce.privacy import Noise, SecureNoise, noise

HUGE = Noise("laplace", 2.0**56)  # 2 x 10^4 draws: two are equal by chance with probability below 1e-9
PRIVACY = os.path.dirname(noise.__file__)


def sources():
    """Return every class of this package that hands out samplers."""
    found = {}
    for module in pkgutil.walk_packages(sottovoce.__path__, "sottovoce."):
        if not module.name.endswith("__main__"):
            for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
                if hasattr(kind, "sampler") and hasattr(kind, "simulated") and not getattr(kind, "_is_protocol", False):
                    found[kind.__qualname__] = kind
    return found


EXAMPLES = [(f"{name} {i}", one) for name, kind in sources().items() for i, one in enumerate(kind.examples())]
EXAMPLES.append(("secure_pool", secure_pool()))


def drawing(example):
    """Ways to get noise from a source: by one sampler that all share, and by samplers made on the spot."""
    shared, sizes = example.sampler(HUGE), itertools.cycle([12, 1, 3, 200, 1, 700, 1, 2, 90])
    return {
        "shared": lambda: shared.draw(1).tolist(),
        "several": lambda: shared.draw(12).tolist(),
        "all sizes": lambda: shared.draw(next(sizes)).tolist(),
        "fresh": lambda: example.sampler(HUGE).draw(1).tolist(),
    }


WAYS = ["shared", "several", "all sizes", "fresh"]


def before_every_step(act):
    """Return a trace function that calls `act` before every instruction of the files that draw noise."""
    folders = (PRIVACY, os.path.dirname(sottovoce.auditing.__file__))

    def tracing(frame, event, argument):
        if not frame.f_code.co_filename.startswith(folders):
            return None
        frame.f_trace_opcodes = True  # an exception, or another thread's turn, does not wait for the end of a line
        if event == "opcode":
            act()
        return tracing

    return tracing


def hammer(draw, *, threads=8, each=10):
    """Draw in many threads at once, each losing its turn as often as can be; return all that was drawn."""

    def work(number):
        sys.settrace(before_every_step(os.sched_yield))
        return [value for _ in range(each) for value in draw()]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        return list(itertools.chain(*at_once(work, threads)))
    finally:
        sys.setswitchinterval(interval)


def repeated(values):
    return len(values) - len(set(values))


def test_discovery_finds_the_sources_that_there_are():
    assert {"SecureNoise", "SimulatedNoise", "Pooled"} <= set(sources())


@every("way", WAYS)
@every("example", [one for _, one in EXAMPLES])
def test_no_two_threads_share_their_noise(example, way):
    values = hammer(drawing(example)[way], each=5 if way == "fresh" else 10)
    assert repeated(values) == 0


class Interrupt(BaseException):
    """Stands for KeyboardInterrupt, MemoryError and whatever else may come at any moment."""


def elsewhere(call):
    """Return what a call in a thread of its own returns; it is stuck if an exception has left a lock closed."""
    return at_once(lambda _: call(), 1)[0]


def interrupted(draw, at):
    """Draw, and raise before the `at`-th instruction; return what was drawn, or None if it was interrupted."""
    steps = itertools.count()

    def interrupt():
        if next(steps) == at:
            raise Interrupt

    sys.settrace(before_every_step(interrupt))
    try:
        return draw()
    except Interrupt:
        return None
    finally:
        sys.settrace(None)


def interrupt_everywhere(draw):
    """Interrupt a draw at each of its instructions; draw in between, here and elsewhere. Return all that came out."""
    values, at = draw(), 0
    # In threads of their own: raising between the instructions of an `except` leaves Python's own books untidy.
    while (drawn := elsewhere(lambda at=at: interrupted(draw, at))) is None:
        values += draw() + elsewhere(draw)
        at += 1
    assert at > 20  # it was interrupted
    return values + drawn


@every("way", WAYS)
@every("example", [one for _, one in EXAMPLES])
def test_no_noise_comes_twice_after_an_exception_anywhere(example, way):
    assert repeated(interrupt_everywhere(drawing(example)[way])) == 0


def in_child(work):
    """Return what `work` returns in a forked child."""
    ((_, returned),) = Child(lambda report: report("returned", work())).finish()[0]
    return returned


def refusal_or(draw):
    try:
        return draw()
    except ForkRefused:
        return "refused"


@every("example", [one for _, one in EXAMPLES])
def test_a_fork_while_other_threads_draw_leaves_a_child_that_neither_hangs_nor_repeats(example):
    shared, stop = example.sampler(HUGE), threading.Event()
    shared.draw(5)

    def work():
        while not stop.is_set():
            shared.draw(7)

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    try:
        for _ in range(4):
            outcome = in_child(lambda: refusal_or(lambda: shared.draw(3).tolist()))
            assert (outcome == "refused") != example.simulated
    finally:
        stop.set()
        for worker in workers:
            worker.join()
    assert shared.draw(2).shape == (2,)  # the parent goes on


def test_children_and_parent_draw_secure_noise_of_their_own():
    """New samplers after a fork: the random numbers beneath them are not those of the parent, or of a brother."""
    SecureNoise().sampler(HUGE).draw(10)

    def fresh():
        return [*SecureNoise().sampler(HUGE).draw(50).tolist(), *secure_pool().sampler(HUGE).draw(50).tolist()]

    values = [*in_child(fresh), *in_child(fresh), *fresh()]
    assert repeated(values) == 0
