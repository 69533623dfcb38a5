"""What was made of a study for its page, kept until it has learned more: a belief is not drawn anew for every look."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sottovoce.report import Statement, statement
from sottovoce.report.html.parts import Histories, Learned, look_learned
from sottovoce.service.context import Context
from sottovoce.service.dashboard.pages import render
from sottovoce.service.dashboard.views.now import Now, look_now
from sottovoce.service.dashboard.views.promise import Promise, audits_in, look_promise
from sottovoce.studies import Study

__all__ = ["Shown"]

_STUDIES = 64  # whose parts are kept


@dataclass(slots=True)
class _Kept:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    version: tuple[str, str] | None = None
    body: str = ""
    histories: Histories = field(default_factory=dict)


class Shown:
    """Parts of the pages of studies.

    Parameters
    ----------
    context
        Of the service.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def now(self, name: str) -> Now:
        """Return where a study stands."""
        return await self._context.look(name, look_now)

    async def statement(self, name: str) -> Statement:
        """Return the statement of a study, for whoever signs it."""
        audits, _ = await asyncio.to_thread(audits_in, self._context.audits)
        return await self._context.look(name, partial(statement, audits=audits))

    async def learned(self, name: str, version: str) -> str:
        """Return what a study has learned and promises, as a part of a page; made once for each version of that."""
        kept = self._kept.setdefault(name, _Kept())
        self._kept.move_to_end(name)
        while len(self._kept) > _STUDIES:
            self._kept.popitem(last=False)
        async with kept.lock:  # of many who look at once, one works
            audits, unreadable = await asyncio.to_thread(audits_in, self._context.audits)
            wanted = (version, repr((audits, unreadable)))
            if kept.version != wanted:
                look = partial(_both, earlier=kept.histories, audits=audits, unreadable=unreadable)
                found, promised = await self._context.look(name, look)
                kept.body = await asyncio.to_thread(
                    render, "learned_and_promised.html", {"it": found, "promise": promised, "version_of": version}
                )
                kept.version, kept.histories = wanted, found.histories
            return kept.body


def _both(
    study: Study, *, earlier: Histories, audits: tuple[Any, ...], unreadable: tuple[Any, ...]
) -> tuple[Learned, Promise]:
    return look_learned(study, earlier), look_promise(study, audits, unreadable)
