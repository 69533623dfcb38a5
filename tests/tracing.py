"""Follow a call line by line, and cut it short at one of them."""

import dis
import functools
import itertools
import sys
from pathlib import Path

import sottovoce

PACKAGE = str(Path(sottovoce.__file__).parent)


class Tracer:
    """Notes the lines that a call executes in some places; raises before one of them.

    Parameters
    ----------
    stop
        Which line: its number, in the order in which they are executed, counted from 1; or (file, line, which), the
        `which`-th time that this line is executed, counted from 0; None for no line.
    error
        What is raised.
    where
        Beginnings of the paths of files that count.
    """

    def __init__(self, stop=None, error=KeyboardInterrupt, where=PACKAGE):
        self.lines, self.reached = [], False
        self._stop, self._error, self._where, self._wanted = stop, error, where, {}
        self._place, self._left = (stop[:2], stop[2]) if isinstance(stop, tuple) else (None, 0)

    def __enter__(self):
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_):
        sys.settrace(None)

    def _enter(self, frame, event, argument):
        name = frame.f_code.co_filename
        if name not in self._wanted:
            self._wanted[name] = name.startswith(self._where) if self._place is None else name == self._place[0]
        return self._line if self._wanted[name] else None

    def _line(self, frame, event, argument):
        if event == "line" and frame.f_lasti not in ends_of_blocks(frame.f_code):
            here = frame.f_code.co_filename, frame.f_lineno
            if self._place is None:
                self.lines.append(here)
                due = len(self.lines) == self._stop
            else:
                self._left -= here == self._place
                due = self._left < 0
            if due:
                sys.settrace(None)
                self.reached = True
                self._reach()
        return self._line

    def _reach(self):
        raise self._error


@functools.cache
def ends_of_blocks(code):
    """Where a `with` is left: a line of its own to tracers, though Python handles no signal between it and the block.

    Nothing could be made safe against an exception there, a plain lock least of all. What a context does at its end is
    made of other lines.
    """
    found = list(dis.get_instructions(code))
    ends = {one.offset for one, after in itertools.pairwise(found) if after.opname == "WITH_EXCEPT_START"}
    for place, (one, two, three, call) in enumerate(zip(found, found[1:], found[2:], found[3:], strict=False)):
        nothing = all(each.opname == "LOAD_CONST" and each.argval is None for each in (one, two, three))
        if nothing and call.opname in ("PRECALL", "CALL"):
            ends.add(one.offset)
            returned = itertools.takewhile(lambda each: each.opname == "SWAP", reversed(found[:place]))
            ends.update(each.offset for each in returned)  # of a value that is returned from within the block
    return ends


def lines_of(call, **options):
    """Return the lines that a call executes."""
    with Tracer(**options) as tracer:
        call()
    return tracer.lines


def places(lines, seen):
    """Where to cut a call: where each of its lines is executed first or last, unless it was seen before."""
    first, last = {}, {}
    for number, line in enumerate(lines, start=1):
        first.setdefault(line, number)
        last[line] = number
    fresh = [line for line in first if line not in seen]
    seen.update(fresh)
    return sorted((first if index % 2 else last)[line] for index, line in enumerate(fresh))


def cut_short(call, stop, **options):
    """Carry out a call up to one of its lines; return what comes out, with its traceback."""
    try:
        with Tracer(stop, **options):
            call()
    except BaseException as problem:
        return problem
    return None
