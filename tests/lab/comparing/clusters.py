"""A Dask scheduler and its workers, as processes on loopback that can be killed one by one."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import sottovoce

WORKERS = 2


class Cluster:
    """Starts what is missing whenever it is asked for; `close` ends all of it."""

    def __init__(self, folder):
        self.folder = folder
        self.scheduler, self.workers, self.address, self._client = None, [], "", None

    def client(self):
        """Return a client of a cluster with a scheduler and two workers, whatever was killed before."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.close()
            self.scheduler, self.address = self._start("scheduler", "--port", "0")
        for worker in [worker for worker in self.workers if worker.poll() is not None]:
            self._end(worker)
            self.workers.remove(worker)
        while len(self.workers) < WORKERS:
            self.workers.append(self._start("worker", self.address, "--no-nanny", "--nthreads", "1")[0])
        if self._client is None or self._client.status != "running":
            from distributed import Client  # takes long, and one file needs it

            self._client = Client(self.address, timeout=60, set_as_default=False)
        self._client.wait_for_workers(WORKERS)
        return self._client

    def _start(self, role, *options):
        """Start a process, and return it with the address that it says it listens at."""
        paths = [Path(sottovoce.__file__).parents[1], Path(__file__).parent]
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{role}", *options, "--host", "127.0.0.1", "--no-dashboard"],
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        )
        addresses = (re.search(r"(?:Scheduler|Start worker) at: *(\S+)", line) for line in process.stderr)
        address = next(found for found in addresses if found)[1]
        process.drain = threading.Thread(target=process.stderr.read)  # a full pipe would stop it
        process.drain.start()
        return process, address

    def close(self):
        if self._client is not None:
            self._client.close()
            self._client = None
        for process in (*self.workers, self.scheduler):
            if process is not None:
                self._end(process)
        self.workers, self.scheduler = [], None

    def _end(self, process):
        process.kill()
        process.wait()
        process.drain.join()
        process.stderr.close()
