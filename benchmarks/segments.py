"""Segments that inform each other, beside one decision for all of them and one optimizer for each.

Twenty segments, sizes by a power law, epsilon = 1, 10^6 events, on seeds on which no constant was chosen. "One each" is
told exactly how many events each segment will have. Regret is against the best decision of each segment.

`python -m benchmarks segments` plays what is missing and shows all. It takes more than an hour; so pieces can be played
one by one, `python -m benchmarks.segments --worlds moderate --seeds 2`, and add up in results/benchmarks/segments.json,
which `--show` shows. `--speed` measures how quick 200 segments are beside none, `--few` plays segments that are much
alike with few events, beside one decision for all.
"""

import argparse
import json
import os
import time

import numpy as np

import sottovoce as sv
from benchmarks.harness import RESULTS, show
from benchmarks.worlds import judged, milli
from sottovoce.lab.segment_rivals import one_each, one_for_all
from sottovoce.models import segment_text

EVENTS, SEGMENTS = 1_000_000, 20
FIRST_SEED, SEEDS = 200, 10
MANY = 200  # segments, for speed
BLOCK = 1000
SHARED = {"privacy": sv.PureDP(1.0)}


class SegmentedTargets(sv.lab.SegmentedEnvironment):
    """Losses are distances to targets: a home that all segments share, one of the segment's own, a person's jump."""

    name = "segmented-targets"

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

    def __repr__(self):
        return f"SegmentedTargets({self.domain!r}, seed={self.seed})"


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
    "device and country": lambda seed: sv.lab.problems.Editions(segments=42, by="factors", differ=0.5, seed=seed),
    "hour of the day": lambda seed: sv.lab.problems.Editions(segments=48, by="hour", differ=0.5, seed=seed),
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


def optimizer(segments, events):
    options = {} if segments is None else {"segments": [f"segment {number}" for number in range(segments)]}
    return sv.PrivateBandit(
        sv.domains.Hypersimplex(20, 5),
        horizon=events,
        loss_range=(0.0, 1.0),
        losses="linear",
        seed=1,
        noise=sv.SimulatedNoise(1),
        **SHARED,
        **options,
    )


def names(segments, events):
    """Return whom each event is for."""
    if segments is None:
        return [None] * events
    shares = sv.lab.power_law(segments)
    drawn = np.random.default_rng(1).choice(segments, size=events, p=shares)
    return [f"segment {number}" for number in drawn.tolist()]


def losses(events):
    return np.random.default_rng(2).integers(0, 2, size=events).astype(np.float64)


def singles(segments, events):
    made, whom, lost = optimizer(segments, events), names(segments, events), losses(events).tolist()
    started = time.process_time()
    if segments is None:
        for loss in lost:
            made.tell(made.ask().id, loss)
    else:
        for one, loss in zip(whom, lost, strict=True):
            made.tell(made.ask(segment=one).id, loss)
    return time.process_time() - started


def blocks(segments, events):
    made, whom, lost = optimizer(segments, events), names(segments, events), losses(events)
    started = time.process_time()
    for start in range(0, events, BLOCK):
        size = min(BLOCK, events - start)
        actions = made.ask(size) if segments is None else made.ask(segment=whom[start : start + size])
        made.tell(actions.ids, lost[start : start + size])
    return time.process_time() - started


def speed(events, repeats=3):
    """Measure processor time, taking turns, so that a busy machine slows all of them alike."""
    rows = []
    for name, work in (("one by one", singles), (f"in blocks of {BLOCK:,}", blocks)):
        times = {count: [] for count in (None, SEGMENTS, MANY)}
        for count in times:
            work(count, min(events, 20_000))  # caches, compilation
        for _ in range(repeats):
            for count in times:
                times[count].append(work(count, events))
        best = {count: events / min(each) for count, each in times.items()}
        share = best[MANY] / best[None]
        verdict = f"{share:.2f} ({'aim' if share >= 0.5 else 'MISSED'}: 0.5)"
        rows.append((name, *(f"{value:,.0f}" for value in best.values()), verdict))
    title = f"Ask and tell, events per second of processor time, {events:,} events"
    columns = ["", "no segments", f"{SEGMENTS} segments", f"{MANY} segments", f"{MANY} against none"]
    show("segments_speed", title, columns, rows)


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
    parser.add_argument("--repeats", type=int, default=3, help="of each measurement of speed, of which the best counts")
    given = parser.parse_args()
    if given.anew:  # what they do has changed
        known = kept(RESULTS / "segments.json")
        keep(RESULTS / "segments.json", {one: it for one, it in known.items() if one.split(" | ")[1] not in given.anew})
    if given.few:
        few(range(given.first, given.first + given.seeds))
    elif given.speed:
        speed(given.events, given.repeats)
    elif given.show:
        table(RESULTS / "segments.json", given.events)
    else:
        main(given.worlds, given.seeds, given.first, given.events)
