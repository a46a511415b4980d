"""banditd as its users run it: a server on the loopback interface, asked and told over HTTP.

options: "definition", members that the study's definition is given besides metric, domain and seed, for example
{"aim": "best"} or {"algorithm": {"name": "gp_ei"}}; "form", "list" to give a grid as its list of candidates."""

import http.client
import json
import os
import pathlib
import re
import subprocess
import tempfile

from protocol import CannotDo, serve


class Server:
    """One banditd for a process's runs; its program is named by BENCH_BANDITD."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="banditd-quality-")
        self.process = subprocess.Popen(
            [os.environ["BENCH_BANDITD"], "serve", "--listen", "127.0.0.1:0", "--db", f"{self.folder.name}/q.db",
             "--threads", "1", "--log-level", "error"],
            stdout=subprocess.PIPE,
        )  # fmt: skip
        line = self.process.stdout.readline().decode()
        host, port = re.fullmatch(r"banditd listening on http://(\S+):(\d+)\n", line).groups()
        self.connection = http.client.HTTPConnection(host, int(port), timeout=600)

    def call(self, method, path, body=None, kind="application/json"):
        text = body if isinstance(body, bytes) or body is None else json.dumps(body)
        self.connection.request(method, path, text, {"Content-Type": kind})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            raise CannotDo(f"{method} {path}: {answer.status} {text[:300]!r}")
        return json.loads(text) if text else None

    def stop(self):
        self.connection.close()
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


class Banditd:
    server = None  # of this process

    def __init__(self, task, seed, options):
        if Banditd.server is None:
            Banditd.server = Server()
        self.cpu_of = Banditd.server.process.pid
        listed = task["parameters"] is None or (options.get("form") == "list" and task["features"])
        domain = {"type": "space", "parameters": task["parameters"]}
        if listed:
            domain = {"type": "candidates", "dimension": task["dimension"]}
        study = {"metric": {"name": "value", "goal": "minimize"}, "domain": domain, "seed": seed}
        study.update(options.get("definition", {}))
        self.point = "candidate" if listed else "parameters"
        self.path = "/v1/studies/" + Banditd.server.call("POST", "/v1/studies", study)["id"]
        if listed:
            points = pathlib.Path(task["features"]).read_bytes()
            Banditd.server.call("PUT", f"{self.path}/candidates", points, "application/octet-stream")

    def ask(self, count):
        body = {"count": count, "wait_seconds": 60}
        trials = Banditd.server.call("POST", f"{self.path}/ask", body)["trials"]
        return [(trial["id"], trial[self.point]) for trial in trials]

    def tell(self, results):
        Banditd.server.call("POST", f"{self.path}/tell", {"results": [
            {"trial": handle, **({"state": "failed"} if value is None else
                                 {"state": "infeasible"} if value == "infeasible" else {"value": value})}
            for handle, value in results
        ]})  # fmt: skip

    def recommend(self):
        best = Banditd.server.call("GET", f"{self.path}/best")
        # Nothing is recommended before a model was made of the first results.
        return (best["recommended"] or best["observed"])[self.point]

    def close(self):
        Banditd.server.call("DELETE", self.path)


if __name__ == "__main__":
    try:
        serve(Banditd)
    finally:
        if Banditd.server:
            Banditd.server.stop()
