"""Segments that inform each other, beside one decision for all of them and one optimizer for each.

Twenty segments, sizes by a power law, epsilon = 1, 10^6 events, on seeds on which no constant was chosen. "One each" is
told exactly how many events each segment will have. Regret is against the best decision of each segment.

`python -m benchmarks segments` plays what is missing and shows all. It takes more than an hour; so pieces can be played
one by one, `python -m benchmarks.segments --worlds moderate --seeds 2`, and add up in results/benchmarks/segments.json,
which `--show` shows. `--speed` measures how quick 20 and 200 segments are beside none, `--studies` the same of studies
with 20; `--few` plays segments that are much alike with few events, beside one decision for all.
"""

import argparse
import json
import os
import tempfile
import time
from contextlib import suppress
from itertools import product
from pathlib import Path

import numpy as np

import sottovoce as sv
from benchmarks.harness import RESULTS, show
from benchmarks.processes import server
from benchmarks.segment_rivals import one_each, one_for_all
from benchmarks.worlds import judged, milli
from sottovoce.lab.problems.editions import Audiences
from sottovoce.models import segment_text

EVENTS, SEGMENTS = 1_000_000, 20
FIRST_SEED, SEEDS = 200, 10
MANY = 200  # segments, for speed
BLOCK = 1000
SHARED = {"privacy": sv.PureDP(1.0)}


class SegmentedTargets(sv.lab.SegmentedEnvironment):
    """Losses are distances to targets: a home that all segments share, one of the segment's own, a person's jump."""

    def __init__(self, domain, differ, seed, jitter=0.3, people=64):
        names = sv.Segments([f"segment {number + 1}" for number in range(SEGMENTS)])
        super().__init__(domain, names, sv.lab.power_law(SEGMENTS), people, seed)
        rng = self._design_rng()
        common, *own = self._extreme_points(rng, 1 + SEGMENTS)
        homes = (1 - differ) * common + differ * np.stack(own)
        targets = (1 - jitter) * homes[:, None, :] + jitter * self._extreme_points(rng, people)
        self.library = sv.lab.Distances(targets.reshape(len(homes) * people, -1))
        self.loss_range, self.lipschitz = (0.0, domain.diameter), 1.0

    def _extreme_points(self, rng, count):
        return np.stack([self.domain.extreme_point(rng.standard_normal(self.domain.dimension)) for _ in range(count)])


class Targets:
    """A convex world in the guise of a problem: its losses are distances in a ball."""

    name, losses, integral = "targets", "convex", False

    def __init__(self, differ, seed):
        ball = sv.domains.Ball(5)
        self.environment = SegmentedTargets(ball, differ, seed)

    def optimizer(self, *, segments=True, **options):
        world = self.environment
        options |= {"segments": world.segments if segments else None, "loss_range": world.loss_range, "lipschitz": 1.0}
        return sv.PrivateBandit(world.domain, **options)


class Known(sv.lab.problems.Editions):
    """Editions for segments of which more is known than their names."""

    def __init__(self, *, segments, seed):
        super().__init__()
        self.segments = segments
        self.environment = Audiences(self.domain, segments, differ=0.5, seed=seed)


def of_factors():
    """Devices and countries."""
    countries = ["it", "de", "fr", "es", "nl", "pl", "se"]
    devices = ["phone", "desktop", "tablet", "television", "watch", "device 6"]
    return sv.Segments(factors={"device": devices, "country": countries})


def of_hours():
    """Half hours of the day, each a point on a circle: midnight is next to eleven."""
    minutes = np.arange(48) * 30
    angles = 2 * np.pi * minutes / 1440
    names = [f"{one // 60:02d}:{one % 60:02d}" for one in minutes.tolist()]
    return sv.Segments(names, features=np.column_stack([np.sin(angles), np.cos(angles)]))


class NamesOnly:
    """Segments of which nothing is known but their names: neither factors nor features."""

    def __init__(self, problem, **options):
        self.segments = problem.environment.segments  # as whoever asks knows them
        names = [segment_text(one) for one in self.segments.names]
        self.optimizer = problem.optimizer(segments=names, **options)

    def __getattr__(self, name):
        return getattr(self.optimizer, name)

    def ask_round(self, most=None, *, segment):
        return self.optimizer.ask_round(most, segment=[segment_text(one) for one in segment])


WORLDS = {
    "moderate": lambda seed: sv.lab.problems.Editions(segments=SEGMENTS, differ=0.2, seed=seed),
    "identical": lambda seed: sv.lab.problems.Editions(segments=SEGMENTS, differ=0.0, seed=seed),
    "unrelated": lambda seed: sv.lab.problems.Editions(segments=SEGMENTS, differ=1.0, seed=seed),
    "convex moderate": lambda seed: Targets(0.2, seed),
    "convex identical": lambda seed: Targets(0.0, seed),
    "convex unrelated": lambda seed: Targets(1.0, seed),
    "device and country": lambda seed: Known(segments=of_factors(), seed=seed),
    "hour of the day": lambda seed: Known(segments=of_hours(), seed=seed),
}
AIMS = {  # what is compared with what, and how much it may be
    "moderate": ("the better", 0.65),
    "identical": ("one for all", 1.2),
    "unrelated": ("one each", 1.2),
    "convex moderate": ("the better", 0.65),
    "convex identical": ("one for all", 1.2),
    "convex unrelated": ("one each", 1.2),
    "device and country": ("names only", 1.0),
    "hour of the day": ("names only", 1.0),
}
WAYS = {
    "segments": lambda problem, seed, **options: problem.optimizer(
        seed=seed, noise=sv.SimulatedNoise(seed), **SHARED, **options
    ),
    "one for all": lambda problem, seed, **options: one_for_all(
        problem, seed=seed, noise=sv.SimulatedNoise(seed), **SHARED, **options
    ),
    "one each": lambda problem, seed, **options: one_each(problem, seed=seed, **SHARED, **options),
    "names only": lambda problem, seed, **options: NamesOnly(
        problem, seed=seed, noise=sv.SimulatedNoise(seed), **SHARED, **options
    ),
}


def ways_of(world):
    """Which ways are compared in a world."""
    return [way for way in WAYS if way != "names only" or AIMS[world][0] == "names only"]


def played(world, way, seed, events):
    """Return the regret per event."""
    problem = WORLDS[world](seed)
    run = sv.lab.simulate(WAYS[way](problem, seed, horizon=events), problem.environment)
    return run.regret_per_event


# ---------------------------------------------------------------------- what was found so far


def kept(path):
    return json.loads(path.read_text()) if path.exists() else {}


def keep(path, found):
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
    partial.replace(path)


def key(world, way, seed, events):
    return f"{world} | {way} | {seed} | {events}"


def fill(path, worlds, seeds, events):
    """Play what is missing; each result is kept as soon as it is there."""
    for world in worlds:
        for seed in seeds:
            for way in ways_of(world):
                one = key(world, way, seed, events)
                if one not in kept(path):
                    started, value = time.perf_counter(), played(world, way, seed, events)
                    keep(path, {**kept(path), one: value})  # read again: another piece may be playing as well
                    print(f"{one}: {value:.5f} ({time.perf_counter() - started:.0f} s)", flush=True)


# ---------------------------------------------------------------------- what it comes to


def table(path, events):
    """Show regrets, and the ratios that were aimed at: of the means, and the worst of the seeds."""
    found, rows = kept(path), []
    for world in WORLDS:
        ways = ways_of(world)
        seeds = [seed for seed in all_seeds(found) if all(key(world, way, seed, events) in found for way in ways)]
        if not seeds:
            continue
        regrets = {way: np.array([found[key(world, way, seed, events)] for seed in seeds]) for way in ways}
        rival, aim = AIMS[world]
        better = np.minimum(regrets["one for all"], regrets["one each"])
        other = better if rival == "the better" else regrets[rival]
        ratios = regrets["segments"] / other
        mean = float(regrets["segments"].mean() / other.mean())
        each = [milli(regrets[way]) if way in regrets else "" for way in WAYS]
        rows.append((world, len(seeds), *each, rival, judged(mean, aim), f"{ratios.max():.2f}"))
    title = f"Regret per event, thousandths, mean / worst; epsilon = 1, {events:,} events"
    show("segments", title, ["", "seeds", *WAYS, "against", "ratio of means", "worst"], rows)


def all_seeds(found):
    """Return the seeds that were played, those left out on which something was chosen."""
    return sorted({seed for one in found if (seed := int(one.split(" | ")[2])) >= FIRST_SEED})


# ---------------------------------------------------------------------- few events


def few(seeds, events=(2_000, 20_000, 100_000)):
    """Compare with one decision for all, where there are few events and segments are much alike."""
    rows = []
    for horizon in events:
        for segments in (8, 21):
            for differ in (0.0, 0.05, 0.2):
                lost = {"segments": [], "one for all": []}
                for seed in seeds:
                    problem = sv.lab.problems.Editions(segments=segments, differ=differ, seed=seed)
                    for way, each in lost.items():
                        run = sv.lab.simulate(WAYS[way](problem, seed, horizon=horizon), problem.environment)
                        each.append(run.regret_per_event)
                mine, other = map(np.array, lost.values())
                ratio = judged(float(mine.mean() / other.mean()), 1.03)
                rows.append(
                    (horizon, segments, differ, *map(milli, (mine, other)), ratio, f"{(mine / other).max():.2f}")
                )
    title = f"Regret per event, thousandths, mean / worst of {len(seeds)} seeds; epsilon = 1"
    show("segments_few", title, ["events", "segments", "differ", *lost, "ratio of means", "worst"], rows)


# ---------------------------------------------------------------------- speed


def options(segments, events):
    named = {} if segments is None else {"segments": [f"segment {number}" for number in range(segments)]}
    return {
        "domain": sv.domains.Hypersimplex(20, 5),
        "horizon": events,
        "loss_range": (0.0, 1.0),
        "losses": "linear",
        "seed": 1,
        "noise": sv.SimulatedNoise(1),
        **SHARED,
        **named,
    }


def names(segments, events):
    """Return whom each event is for."""
    if segments is None:
        return [None] * events
    shares = sv.lab.power_law(segments)
    drawn = np.random.default_rng(1).choice(segments, size=events, p=shares)
    return [f"segment {number}" for number in drawn.tolist()]


def losses(events):
    return np.random.default_rng(2).integers(0, 2, size=events).astype(np.float64)


def play(made, whom, lost, block):
    """Ask and tell one by one, or in blocks."""
    if block == 1:
        for one, loss in zip(whom, lost.tolist(), strict=True):
            made.tell(made.ask(segment=one).id, loss)
        return
    for start in range(0, len(lost), block):
        size = min(block, len(lost) - start)
        actions = made.ask(size) if whom[0] is None else made.ask(segment=whom[start : start + size])
        made.tell(actions.ids, lost[start : start + size])


def in_memory(segments, events, block):
    """Return seconds of processor time."""
    made, whom, lost = sv.PrivateBandit(**options(segments, events)), names(segments, events), losses(events)
    started = time.process_time()
    play(made, whom, lost, block)
    return time.process_time() - started


def called(block):
    return "one by one" if block == 1 else f"blocks of {block:,}"


def share_of(best, other):
    share = best[other] / best[None]
    return f"{share:.2f} ({'aim' if share >= 0.5 else 'MISSED'}: 0.5)"


def speed(events, repeats=3):
    """Measure processor time, taking turns, so that a busy machine slows all of them alike."""
    rows, sizes = [], (SEGMENTS, MANY)
    for block in (1, BLOCK):
        times = {count: [] for count in (None, *sizes)}
        for count in times:
            in_memory(count, min(events, 20_000), block)  # caches, compilation
        for _ in range(repeats):
            for count in times:
                times[count].append(in_memory(count, events, block))
        best = {count: events / min(each) for count, each in times.items()}
        rows.append(
            (called(block), *(f"{value:,.0f}" for value in best.values()), *(share_of(best, one) for one in sizes))
        )
    title = f"Ask and tell, events per second of processor time, {events:,} events"
    columns = ["", "no segments", *(f"{one} segments" for one in sizes), *(f"{one} against none" for one in sizes)]
    show("segments_speed", title, columns, rows)


def in_study(url, name, segments, events, block, servers):
    """Return seconds of processor time, those of a server included, and statements and transactions an event."""
    study = sv.Study.open(url, name=name, **options(segments, 100 * events))
    base, counts = study._base, {"statements": 0, "transactions": 0}

    def counting(kind, method):
        def counted(*given, **named):
            counts[kind] += len(given[0]) if method.__name__ == "batch" else 1
            return method(*given, **named)

        return counted

    if servers is not None:
        base.batch = counting("statements", base.batch)
    base._execute, base._attempt = counting("statements", base._execute), counting("transactions", base._attempt)
    whom, lost = names(segments, events), losses(events)
    before, started = server_time(servers), time.process_time()
    play(study, whom, lost, block)
    took = time.process_time() - started + server_time(servers) - before
    study.close()
    return took, counts["statements"] / events, counts["transactions"] / events


def server_time(server):
    """Return the seconds of processor time that the processes of a server have had."""
    if server is None:
        return 0.0
    total = 0
    for one in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = one.read_text().rpartition(")")[2].split()
            mine = server in (int(one.parent.name), int(fields[1]))
            total += sum(map(int, fields[11:13])) if mine else 0
    return total / os.sysconf("SC_CLK_TCK")


def study_speed(events, repeats=3):
    """Measure studies with and without segments on both storages, taking turns."""
    rows = []
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory) as folder, server(folder) as found:
        places = {"SQLite": (f"sqlite:///{folder}/study.db", None)}
        if found is not None:
            places["PostgreSQL"] = found[0], found[3]
        for (storage, place), block in product(places.items(), (1, 256, BLOCK)):
            most = events if block > 1 else max(1, events // 10)
            measured = {count: [] for count in (None, SEGMENTS)}
            for turn, count in product(range(repeats), measured):
                name = f"{turn} {count} {block}"
                measured[count].append(in_study(place[0], name, count, most, block, place[1]))
            best = {count: most / min(one for one, _, _ in each) for count, each in measured.items()}
            counted = [f"{each[0][place]:.3f}" for place in (1, 2) for each in measured.values()]
            speeds = (f"{value:,.0f}" for value in best.values())
            rows.append((f"{storage}, {called(block)}", *speeds, share_of(best, SEGMENTS), *counted))
    title = f"Studies, events per second of processor time, {events:,} events ({events // 10:,} one by one)"
    both = "no segments", f"{SEGMENTS} segments"
    columns = ["", *both, "ratio", *(f"{what}/event, {one}" for what in ("statements", "transactions") for one in both)]
    show("segments_studies", title, columns, rows)


def main(worlds=tuple(WORLDS), count=SEEDS, first=FIRST_SEED, events=EVENTS, path=RESULTS / "segments.json"):
    fill(path, worlds, range(first, first + count), events)
    table(path, events)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", nargs="*", choices=list(WORLDS), default=list(WORLDS), metavar="WORLD")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many")
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="the first seed")
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--anew", nargs="*", choices=list(WAYS), default=[], metavar="WAY", help="play these once more")
    parser.add_argument("--show", action="store_true", help="show what was played, and play nothing")
    parser.add_argument("--few", action="store_true", help="play few events of segments that are much alike")
    parser.add_argument("--speed", action="store_true", help="measure speed, and nothing else")
    parser.add_argument("--studies", action="store_true", help="measure the speed of studies, and nothing else")
    parser.add_argument("--repeats", type=int, default=3, help="of each measurement of speed, of which the best counts")
    given = parser.parse_args()
    if given.anew:  # what they do has changed
        known = kept(RESULTS / "segments.json")
        keep(RESULTS / "segments.json", {one: it for one, it in known.items() if one.split(" | ")[1] not in given.anew})
    if given.few:
        few(range(given.first, given.first + given.seeds))
    elif given.speed:
        speed(given.events, given.repeats)
    elif given.studies:
        study_speed(given.events, given.repeats)
    elif given.show:
        table(RESULTS / "segments.json", given.events)
    else:
        main(given.worlds, given.seeds, given.first, given.events)
