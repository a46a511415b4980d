"""GET /metrics: well-formed, true, documented, and with labels that do not grow with use."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import databases
from server import Server
from support import Skip, cases, definition, measure, refusal, work
from test_events import Stream

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT = 60
SAMPLE = re.compile(r'^([a-z_]+)(?:\{((?:[a-z]+="[^"\\]*",?)*)\})? (\S+)$')


class Metrics:
    """What a server has said: kinds {family: type}, samples {(name, labels): value}."""

    def __init__(self, client):
        answer = client.get("/metrics")
        assert answer.status == 200, answer
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"), answer.headers.items()
        self.text = answer.body.decode()
        self.kinds, self.helps, self.samples = {}, {}, {}
        family = None
        for line in self.text.splitlines():
            if line.startswith("# HELP "):
                family, help_text = line[7:].split(" ", 1)
                assert family not in self.helps, f"{family} comes twice"
                self.helps[family] = help_text
            elif line.startswith("# TYPE "):
                name, kind = line[7:].split(" ")
                assert name == family and name not in self.kinds, line
                self.kinds[name] = kind
            else:
                match = SAMPLE.match(line)
                assert match, line
                name, labels, value = match.groups()
                base = re.sub("_(bucket|sum|count)$", "", name) if self.kinds[family] == "histogram" else name
                assert base == family, f"{line} in the family {family}"
                key = (name, frozenset(re.findall(r'([a-z]+)="([^"]*)"', labels or "")))
                assert key not in self.samples, line
                self.samples[key] = float(value)

    def get(self, name, **labels):
        """The value of one sample; 0 when there is none yet."""
        return self.samples.get((name, frozenset(labels.items())), 0)

    def labels(self, family):
        """All label names of a family's samples."""
        names = (family, family + "_bucket", family + "_sum", family + "_count")
        return {label for name, labels in self.samples if name in names for label, _ in labels}


class Confined(Server):
    """A server that may use some processors, and is not told how many threads to have."""

    def __init__(self, processors):
        super().__init__()
        self.processors = processors

    def popen(self, command, **options):
        options["env"].pop("BANDITD_THREADS", None)
        return super().popen(command, preexec_fn=lambda: os.sched_setaffinity(0, self.processors), **options)


def test_there_are_no_more_threads_than_usable_processors():
    usable = os.sched_getaffinity(0)
    for processors in (usable, {min(usable)}):
        with Confined(processors) as server:
            threads = Metrics(server.client()).get("banditd_pool_threads")
            assert 1 <= threads <= len(processors), threads  # a control group may have a quota


def promtool():
    found = shutil.which("promtool")
    if not found:
        raise Skip("needs promtool, of Debian's package prometheus (make deps installs it)")
    return found


def check(*arguments, stdin=None):
    done = subprocess.run([promtool(), *arguments], input=stdin, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def used(server):
    """A server on which a bit of everything has happened. -> its metrics"""
    client = server.client()
    study = client.create(definition())["id"]
    work(client, study, 20)
    client.get("/v1/studies/nobody")
    client.get("/nothing/here")
    client.get("/")
    stream = Stream(server, study, 0)
    client.get("/metrics")
    metrics = Metrics(client)
    stream.close()
    return metrics


def test_promtool_finds_nothing_wrong(server):
    check("check", "metrics", stdin=used(server).text)


def test_histograms_are_cumulative(server):
    metrics = used(server)
    histograms = [family for family, kind in metrics.kinds.items() if kind == "histogram"]
    assert len(histograms) == 4, histograms
    series = {}
    for (name, labels), value in metrics.samples.items():
        if name.endswith("_bucket") and name[:-7] in histograms:
            bound = dict(labels)["le"]
            rest = frozenset(item for item in labels if item[0] != "le")
            series.setdefault((name[:-7], rest), []).append((float(bound), value))
    for (family, labels), buckets in series.items():
        buckets.sort()
        values = [value for _, value in buckets]
        assert values == sorted(values) and buckets[-1][0] == float("inf"), (family, buckets)
        assert metrics.samples[family + "_count", labels] == values[-1], family
        total = metrics.samples[family + "_sum", labels]
        least = sum((below - before) * bound for (bound, _), before, below in zip([(0, 0), *buckets], [0, *values], values))
        assert least <= total + 1e-6 * values[-1], (family, least, total)
    requests = {labels: n for (name, labels), n in metrics.samples.items() if name == "banditd_http_request_seconds_count"}
    for labels, n in requests.items():
        answers = sum(
            value
            for (name, all_labels), value in metrics.samples.items()
            if name == "banditd_http_requests_total" and labels <= all_labels
        )
        assert answers == n, (labels, answers, n)


def test_what_has_happened_is_counted():
    with Server() as server:
        client = server.client()
        before = Metrics(client)
        study = client.create(definition(horizon=30))["id"]
        paused = client.create(definition())["id"]
        client.request("PATCH", f"/v1/studies/{paused}", {"state": "paused"})
        work(client, study, 25)
        trials = client.ask(study, 3, worker="w")["trials"]
        client.tell(study, [{"trial": trials[0]["id"], "state": "failed"}])
        client.post(f"/v1/studies/{study}/tell", {"results": [{"trial": 999, "value": 1}]})
        client.get(f"/v1/studies/{study}/nothing")
        client.request("PUT", f"/v1/studies/{study}/ask", {})
        end = time.monotonic() + TIMEOUT
        while (counts := client.study(study))["trials_queued"] + counts["trials_pending"] == 0:
            assert time.monotonic() < end, counts  # the next batch is being planned
            time.sleep(0.02)
        after = Metrics(client)

        def more(name, **labels):
            return after.get(name, **labels) - before.get(name, **labels)

        counts = client.study(study)
        listed = client.items(f"/v1/studies/{study}/trials")
        assert after.get("banditd_studies", state="active") == 1
        assert after.get("banditd_studies", state="paused") == 1
        for state in ("queued", "pending", "completed", "failed"):
            assert after.get("banditd_trials", state=state) == counts[f"trials_{state}"], state
        assert more("banditd_events_total", type="study_created") == 2
        assert more("banditd_events_total", type="trial_told") == 26
        assert more("banditd_events_total", type="trial_issued") == sum(trial["attempt"] for trial in listed)
        assert more("banditd_events_total", type="batch_planned") == counts["batch"]
        for phase in ("update", "select"):
            assert more("banditd_batch_planning_seconds_count", phase=phase) >= counts["batch"]
        requests = "banditd_http_requests_total"
        tell = "/v1/studies/{study}/tell"
        assert more(requests, method="POST", route="/v1/studies", status="201") == 2
        assert more(requests, method="POST", route=tell, status="422") == 1
        assert more(requests, method="PATCH", route="/v1/studies/{study}", status="200") == 1
        assert more(requests, method="other", route="other", status="404") == 1
        assert more(requests, method="other", route="other", status="405") == 1
        assert more(requests, method="GET", route="/metrics", status="200") == 1
        assert more("banditd_commit_seconds_count") >= 2 + 26 / 16
        assert more("banditd_commit_writes_sum") >= more("banditd_commit_seconds_count")
        assert after.get("banditd_loaded_studies") == 2
        assert after.get("banditd_engine_memory_bytes") > 144 * 2 * 8, "the candidates alone take so much"
        open_trials = counts["trials_queued"] + counts["trials_pending"]
        # Trials that are told are counted until they are part of a model; open ones take more than 250 bytes each.
        until(client, lambda metrics: metrics.get("banditd_trial_memory_bytes") > 250 * open_trials)
        assert (after.get("banditd_database_bytes") + after.get("banditd_wal_bytes") > 0) != bool(databases.URI)
        assert after.get("banditd_failed_writes_total") == 0
        assert after.get("banditd_build_info", version=client.get("/v1/version").json["version"]) == 1
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
        resident = 1024 * int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1))
        assert 0.5 * resident < after.get("process_resident_memory_bytes") < 2 * resident
        assert abs(time.time() - after.get("process_start_time_seconds")) < 3600
        held = Metrics(client).get("banditd_engine_memory_bytes")
        client.get(f"/v1/studies/{study}/candidates?sort=std&limit=1")
        assert Metrics(client).get("banditd_engine_memory_bytes") >= held + 144 * 4, "the order is kept for the next page"
        client.delete(f"/v1/studies/{study}")
        client.delete(f"/v1/studies/{paused}")
        gone = until(client, lambda metrics: metrics.get("banditd_loaded_studies") == 0)
        assert gone.get("banditd_trial_memory_bytes") == 0
        assert gone.get("banditd_engine_memory_bytes") == 0 and gone.get("banditd_studies", state="active") == 0


def until(client, condition):
    """Metrics for which the condition holds."""
    end = time.monotonic() + TIMEOUT
    while not condition(metrics := Metrics(client)):
        assert time.monotonic() < end, metrics.text
        time.sleep(0.05)
    return metrics


def test_what_waits_and_what_runs_out(server):
    client, asking = server.client(), server.client()
    study = client.create(definition(lease_seconds=1))["id"]
    before = Metrics(client).get("banditd_leases_expired_total")
    client.ask(study, 1, worker="lost")
    end = "banditd_http_requests_total", {"method": "POST", "route": "/v1/studies/{study}/ask", "status": "200"}
    asking._connection.request("POST", f"/v1/studies/{study}/ask", '{"worker": "w", "wait_seconds": 30}', {"Content-Type": "application/json"})
    until(client, lambda metrics: metrics.get("banditd_waiting_asks") == 1)
    answered = asking._connection.getresponse()
    trials = json.loads(answered.read())["trials"]
    assert [trial["attempt"] for trial in trials] == [2], trials
    metrics = until(client, lambda metrics: metrics.get("banditd_waiting_asks") == 0)
    assert metrics.get("banditd_leases_expired_total") >= before + 1
    assert metrics.get(end[0], **end[1]) >= 2
    client.tell(study, [measure(trials[0])])


def test_streams_are_counted_and_their_clients_missed(server):
    client = server.client()
    study = client.create(definition())["id"]
    streams = [Stream(server, study) for _ in range(10)]
    until(client, lambda metrics: metrics.get("banditd_event_streams") == 10)
    for stream in streams:
        stream.close()
    until(client, lambda metrics: metrics.get("banditd_event_streams") == 0)


def test_series_do_not_grow_with_use():
    with Server() as server:
        client = server.client()
        names = []

        def use(n):
            for i in range(n):
                study = client.create(definition(id=f"private-name-{len(names)}", points=[[0], [1]]))["id"]
                names.append(study)
                trial = client.ask(study, worker=f"secret-worker-{i}")["trials"][0]["id"]
                client.get(f"/v1/studies/{study}/trials/{trial}")
                client.get(f"/made-up-{i}")
                client.get(f"/v1/studies/{study}/made-up-{i}")
                client.request(f"BREW{i}", "/v1/studies")
                client.request("GET", "/metrics", headers={"X-Request-Id": f"request-{i}"})

        use(3)
        first = Metrics(client)
        use(20)
        second = Metrics(client)
        assert set(first.samples) == set(second.samples), set(second.samples) ^ set(first.samples)
        for word in ("private-name", "secret-worker", "made-up", "BREW", "request-"):
            assert word not in second.text, word


# ---- what is said about them ---------------------------------------------------------------------------


def documented():
    """{metric: (type, labels)} of the table in docs/monitoring.md."""
    found = {}
    for line in (ROOT / "docs" / "monitoring.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 4 and line.startswith("| `"):
            names, kind, labels, meaning = cells
            assert meaning, line
            for name in re.findall("`([a-z_]+)`", names):
                found[name] = (kind, set(re.findall("`([a-z]+)`", labels)))
    return found


def test_the_list_is_what_is_served(server):
    metrics, listed = used(server), documented()
    assert set(listed) == set(metrics.kinds), set(listed) ^ set(metrics.kinds)
    for family, kind in metrics.kinds.items():
        labels = metrics.labels(family) - ({"le"} if kind == "histogram" else set())
        assert listed[family] == (kind, labels), (family, kind, labels)


def test_alert_rules():
    folder = ROOT / "docker" / "prometheus"
    check("check", "rules", str(folder / "alerts.yml"))
    check("test", "rules", str(folder / "alerts_test.yml"))
    rules = (folder / "alerts.yml").read_text()
    alerts = re.findall(r"- alert: (\w+)", rules)
    tested = (folder / "alerts_test.yml").read_text()
    explained = (ROOT / "docs" / "monitoring.md").read_text()
    for alert in alerts:
        assert f"alertname: {alert}\n" in tested, f"{alert} is not tested"
        assert f"| `{alert}` |" in explained, f"docs/monitoring.md does not know {alert}"
    assert set(re.findall(r"^\| `(Banditd\w+)` \|", explained, re.M)) == set(alerts)
    assert metric_names(rules) <= names_served(), metric_names(rules) - names_served()


def test_the_grafana_dashboard_asks_for_what_there_is():
    dashboard = json.loads((ROOT / "docker" / "grafana" / "banditd.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    assert expressions
    with tempfile.TemporaryDirectory() as folder:
        rules = pathlib.Path(folder) / "rules.yml"
        rows = [{"record": f"panel:{i}", "expr": plain(text)} for i, text in enumerate(expressions)]
        rules.write_text(json.dumps({"groups": [{"name": "panels", "rules": rows}]}))
        check("check", "rules", str(rules))
    names = metric_names("\n".join(expressions))
    assert names <= names_served(), names - names_served()
    unseen = {name for name in documented() if name not in {re.sub("_(bucket|sum|count)$", "", name) for name in names}}
    assert unseen <= {"process_start_time_seconds"}, f"no panel shows {unseen}"


def plain(expression):
    """Without the variables of the dashboard."""
    return expression.replace("$__rate_interval", "5m").replace("$instance", ".*").replace("$job", "banditd")


def metric_names(text):
    return set(re.findall(r"\b((?:banditd|process)_[a-z_]+)", text))


def names_served():
    names = set()
    for name, (kind, _) in documented().items():
        names |= {name + suffix for suffix in ("_bucket", "_sum", "_count")} if kind == "histogram" else {name}
    return names


@cases({"post": ("POST", "/metrics", 405), "query": ("GET", "/metrics?name=up", 422)})
def test_refusals(server, case):
    method, path, status = case
    refusal(server.client().request(method, path, {} if method == "POST" else None), status)
