"""Run every benchmark in this folder, or those named: `python -m benchmarks [NAME ...]`."""

import importlib
import pkgutil
import sys

import benchmarks

SUPPORT = {"__main__", "harness", "segment_rivals", "solvers", "worlds"}


def main() -> None:
    found = sorted({module.name for module in pkgutil.iter_modules(benchmarks.__path__)} - SUPPORT)
    wanted = sys.argv[1:] or found
    unknown = set(wanted) - set(found)
    if unknown:
        sys.exit(f"no benchmark named {', '.join(sorted(unknown))}; there are {', '.join(found)}")
    for name in wanted:
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
