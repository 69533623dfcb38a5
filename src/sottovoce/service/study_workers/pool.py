"""Study workers of a process: studies are opened when first wanted, and closed when others need the place."""

import asyncio
from collections import OrderedDict
from contextlib import suppress

from sottovoce.errors import ConfigurationMismatch, StateRefused, StudyNotFound
from sottovoce.privacy.noise import WithheldNoise
from sottovoce.rounds.stored import book_name
from sottovoce.service.metrics import Metrics
from sottovoce.service.settings import Settings
from sottovoce.service.study_workers.requests import Requests
from sottovoce.service.study_workers.worker import StudyWorker
from sottovoce.studies import Study


class StudyWorkers:
    """Opens studies, each once in a worker.

    Parameters
    ----------
    settings
        Of the service.
    requests
        The record of asks that may be repeated.
    metrics
        Are told how many studies are open, and how many calls were carried out together.
    """

    def __init__(self, settings: Settings, requests: Requests, metrics: Metrics) -> None:
        self._settings, self._requests, self._metrics = settings, requests, metrics
        self._open: OrderedDict[str, StudyWorker] = OrderedDict()
        self._opening: dict[str, asyncio.Task[StudyWorker]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._open)

    async def worker(self, name: str) -> StudyWorker:
        """Return the worker of a study, which is opened if need be."""
        worker = self._open.get(name)
        if worker is not None and worker.gone:  # deleted, or moved away; there may be another one of that name
            self._retire(name)
        elif worker is not None:
            self._open.move_to_end(name)
            return worker
        task = self._opening.get(name)
        if task is None:
            task = self._opening[name] = asyncio.create_task(self._opened(name))
            task.add_done_callback(lambda _: self._opening.pop(name, None))
        worker = await asyncio.shield(task)
        return await self.worker(name) if worker.closed else worker  # others may have needed its place meanwhile

    async def _opened(self, name: str) -> StudyWorker:
        study, refusal = await asyncio.to_thread(open_study, self._settings, name)
        worker = StudyWorker(study, self._requests, asyncio.get_running_loop(), self._metrics.count_gathered, refusal)
        self._open[name] = worker
        self._make_room()
        self._metrics.note_open(len(self._open))
        return worker

    def _make_room(self) -> None:
        """Close studies that were not used for longest, of those that nobody waits for."""
        surplus = len(self._open) - self._settings.open_studies
        newest = next(reversed(self._open))
        idle = [name for name, worker in self._open.items() if worker.idle and name != newest]
        for name in idle[: max(0, surplus)]:
            self._retire(name)

    def _retire(self, name: str) -> None:
        worker = self._open.pop(name)
        worker.retire()
        closing = asyncio.create_task(asyncio.to_thread(worker.close))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Carry out all that is queued, and close all studies: what they had in hand is given back."""
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        workers = [self._open.pop(name) for name in list(self._open)]
        for worker in workers:
            worker.retire()
        await asyncio.gather(*(asyncio.to_thread(worker.close) for worker in workers), *self._closing)


def open_study(settings: Settings, name: str) -> tuple[Study, StateRefused | None]:
    """Open a study, to ask and tell; or, if its noise was simulated and that is not wanted here, to look at.

    Return it, and why it can only be looked at.
    """
    try:
        book_name(name)
    except ValueError:  # which repeats the name, and is not what a loss is refused for
        name = ""
    if not name:
        raise StudyNotFound("no study can have this name")
    try:
        return _open(settings, name)
    except ConfigurationMismatch:  # it is the name of evaluations
        raise StudyNotFound("there are evaluations of this name, and no study") from None


def _open(settings: Settings, name: str) -> tuple[Study, StateRefused | None]:
    if settings.simulated is not None:
        with suppress(ConfigurationMismatch):  # its noise is real
            return Study.open(settings.storage, name=name, noise=settings.noise), None
    try:
        return Study.open(settings.storage, name=name), None
    except StateRefused as refused:
        refusal = refused
    return Study.open(settings.storage, name=name, noise=WithheldNoise()), refusal
