"""Try what `make wheel` has built: in an empty environment, the first example, a study, and the service over HTTP.

    python tests/built.py dist

Needs nothing but Python and a package index. The wheel is tried plainly first, then with the service, and so is the
source distribution.
"""

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
STUDY = """
import sottovoce as sv

settings = {"domain": sv.domains.Hypersimplex(6, 2), "horizon": 200, "loss_range": (0, 1), "privacy": sv.PureDP(1.0)}
with sv.Study.open("sqlite:///tried.db", name="tried", **settings) as study:
    actions = study.ask(size=50)
    study.tell(actions.ids, [0.5] * 50)
with sv.Study.open("sqlite:///tried.db", name="tried") as study:
    assert study.status().told == 50
"""
PATIENCE = 600  # seconds, so that nothing hangs for ever


def first_example():
    """The README's first blocks, one after the other."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first, second = re.findall(r"```python[^\n]*\n(.*?)```", text, re.DOTALL)[:2]
    return first + second


def call(address, content=None):
    """Return what a service answers, as JSON."""
    body = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"} if body else {})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=PATIENCE) as answer:
        return json.load(answer)


def try_service(command, folder):
    """Start it, make a study there, ask and tell, and stop it."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
    words = [*command, "serve", "--storage", "sqlite:///served.db", "--dev", "--port", str(port)]
    process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        wait_for(f"http://127.0.0.1:{port}/health", process)
        study = {"name": "tried", "domain": "hypersimplex:6,2", "horizon": 1000, "privacy": {"epsilon": 1}}
        call(f"http://127.0.0.1:{port}/studies", study)
        action = call(f"http://127.0.0.1:{port}/studies/tried/ask", {})
        told = call(f"http://127.0.0.1:{port}/studies/tried/tell", {"id": action["id"], "loss": 0.5})
        assert told["recorded"] == 1, told
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(PATIENCE)
    assert code in (0, -signal.SIGTERM), code


def wait_for(address, process):
    """Ask until there is an answer, or the process has ended."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return call(address)
        except (urllib.error.URLError, ConnectionError):
            assert process.poll() is None, "the service has ended"
            assert time.monotonic() < deadline, "the service does not answer"
            time.sleep(0.1)


def main(folder):
    """Try all that there is."""
    (wheel,), (source,) = sorted(folder.glob("*.whl")), sorted(folder.glob("*.tar.gz"))
    scratch = Path(tempfile.mkdtemp(prefix="sottovoce-built-"))
    try:
        venv.create(scratch / "venv", with_pip=True)
        python = scratch / "venv" / "bin" / "python"

        def run(*words):
            subprocess.run([python, *words], cwd=scratch, check=True, stdout=subprocess.DEVNULL)

        def install(*words):
            run("-m", "pip", "install", "--quiet", "--disable-pip-version-check", *map(str, words))

        def play():
            run("-c", first_example())
            run("-c", STUDY)
            (scratch / "tried.db").unlink()

        def serve():
            try_service([scratch / "venv" / "bin" / "sottovoce"], scratch)
            (scratch / "served.db").unlink()
            (scratch / "served.service.db").unlink()

        install(wheel.resolve())
        play()
        print(f"{wheel.name}: the first example and a study work in an empty environment", flush=True)
        install(f"{wheel.resolve()}[service]")
        serve()
        print(f"{wheel.name}[service]: the service answers", flush=True)
        install("--force-reinstall", "--no-deps", source.resolve())
        play()
        serve()
        print(f"{source.name}: the same", flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
