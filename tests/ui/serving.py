"""covey ui on a free port, in this process, for as long as a test takes; and stores of runs that nobody ran."""

import contextlib
import http.client
import json
import threading
import time

from covey.experiment import Experiment
from covey.store import Store
from covey.ui.app import make_app
from covey.ui.command import bind, server_of


class Served:
    """Where it is, and the shortest way to ask it something."""

    def __init__(self, port):
        self.port, self.url = port, f"http://127.0.0.1:{port}"

    def ask(self, path, body=None, *, method=None, headers=None, raw=None):
        """The status, the headers and the text of an answer; a header that is None is left out."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        content = raw if raw is not None else None if body is None else json.dumps(body).encode()
        method = method or ("GET" if content is None else "POST")
        usual = {"Host": f"127.0.0.1:{self.port}"} | (
            {"Content-Type": "application/json"} if content is not None else {}
        )
        told = {name: value for name, value in {**usual, **(headers or {})}.items() if value is not None}
        try:
            connection.request(
                method, path, content, told, encode_chunked=raw is not None and not isinstance(raw, bytes)
            )
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode()
        finally:
            connection.close()

    def json(self, path, body=None):
        """The answer's JSON, whatever its status."""
        return json.loads(self.ask(path, body)[2])


@contextlib.contextmanager
def serving(out, token=None):
    bound = bind("127.0.0.1", 0)
    server = server_of(make_app(out, token=token))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield Served(bound.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
        bound.close()


def made_up(out, count=3, *, status="finished", **config):
    """A store of so many runs of four rounds; gives their names."""
    names = []
    with Store(out) as store:
        for number in range(count):
            usual = Experiment.make({"rounds": 4, "seed": number}).model_dump(mode="json")
            settings = {**usual, **config}
            run = store.create(f"{settings['algorithm']}-digits", settings)
            for r in range(1, 5):
                scores = {"accuracy": 0.2 * r, "own_accuracy": 0.1 * r, "loss": 1 / r}
                store.add_round(run, r, {"round": r, "traffic_bytes": r * 1000, "wall_seconds": r / 10, **scores}, None)
            store.mark(run, status, {})
            names.append(run)
    return names
