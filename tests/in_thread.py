"""An application that answers from a thread of this process, on a port of its own."""

import contextlib
import socket
import threading

import uvicorn


@contextlib.contextmanager
def answering(app, port=0, **options):
    """Yield its address; from the first moment on, whoever connects is waited for, or waits for the server."""
    with socket.create_server(("127.0.0.1", port)) as listening:
        server = uvicorn.Server(uvicorn.Config(app, **{"log_config": None, "access_log": False} | options))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(600)
            assert not thread.is_alive()
