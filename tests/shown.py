"""What an error shows: logs, trackers and debuggers print the whole chain of an exception, `from None` or not."""


def shows(problem, *marks):
    """Say where an exception, or one behind it, shows one of some marks; None if nowhere."""
    seen, waiting = set(), [problem]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        looks = [str(one), repr(one), repr(one.args), repr(vars(one)), repr(getattr(one, "object", ""))]
        if any(mark in look for look in looks for mark in marks):
            return repr(one)
        waiting += [one.__cause__, one.__context__, *(part for part in one.args if isinstance(part, BaseException))]
    return None
