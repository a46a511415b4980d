"""banditctl, command by command."""

import contextlib
import http.server
import json
import pathlib
import struct
import subprocess
import sys
import threading
import time

import site_of_tests
from server import Server, run_to_end
from support import definition


def test_a_study_from_its_creation_to_its_end(site):
    path = site.folder / "study.json"
    path.write_text(json.dumps(definition(id="from-file", horizon=3)))
    assert site.output("study", "create", path) == "from-file\n"
    made = site.output("study", "create", "-", stdin=json.dumps(definition(display_name="Other"))).strip()
    listed = {line.split()[0]: line.split()[1:] for line in site.output("study", "list").splitlines()}
    assert listed == {"from-file": ["active", "0", "3", "-"], made: ["active", "0", "-", "-"]}, listed
    assert "name                 Other\n" in site.output("study", "show", made)

    def state():
        return json.loads(site.output("study", "show", "from-file", "--json"))["state"]

    assert state() == "active"
    for command, expected in (("pause", "paused"), ("resume", "active"), ("finish", "finished")):
        site.output("study", command, "from-file")
        assert state() == expected, command
    site.output("study", "delete", "from-file")
    assert site.run("study", "show", "from-file").returncode == 4


def test_a_rule_that_only_advises(site):
    client = site.server.client()
    client.create(definition(id="advised", stop_when=[{"rule": "stagnation", "results": 2, "then": "tell"}]))
    for _ in range(6):
        (trial,) = client.ask("advised", 1, wait_seconds=30)["trials"]
        client.tell("advised", [{"trial": trial["id"], "value": 0.5}])
    since = client.study("advised")["advice"]["since_batch"]
    assert f"advice               stop, by the rule stagnation (since batch {since})\n" in site.output("study", "show", "advised")


def test_words_from_a_file(site):
    space = {"type": "space", "parameters": [{"name": 'my "mol', "type": "categorical"}, {"name": "t", "type": "double", "min": 0, "max": 1}]}
    (site.folder / "study.json").write_text(json.dumps({"id": "words", "metric": {"name": "y", "goal": "maximize"}, "domain": space}))
    (site.folder / "mol.csv").write_text("key,size\nC,16\nCC,30\n")
    assert site.output("study", "create", site.folder / "study.json", f'my "mol={site.folder}/mol.csv') == "words\n"
    (parameter, _) = json.loads(site.output("study", "show", "words", "--json"))["domain"]["parameters"]
    assert parameter["values"] == ["C", "CC"] and parameter["features"] == [[16], [30]], parameter
    for wrong, status in (("mol.csv", 2), ("my=absent.csv", 1), (f"other={site.folder}/mol.csv", 1)):
        assert site.run("study", "create", site.folder / "study.json", wrong).returncode == status, wrong


def test_why_a_trial_was_chosen(site):
    client = site.server.client()
    client.create(definition(id="asked-why"))
    for _ in range(3):
        (trial,) = client.ask("asked-why", 1)["trials"]
        client.tell("asked-why", [{"trial": trial["id"], "value": 0.5}])
    printed = site.output("why", "asked-why", 3)
    assert "upper_bound" in printed and "nearest" in printed and "expected" in printed, printed
    assert site.output("why", "asked-why", 1).startswith("One of the first points"), printed
    assert site.run("why", "asked-why", 9).returncode == 4
    assert site.run("why", "asked-why", "last").returncode == 2


def test_a_study_is_forked(site):
    client = site.server.client()
    client.create(definition(id="original"))
    for _ in range(3):
        (trial,) = client.ask("original", 1)["trials"]
        client.tell("original", [{"trial": trial["id"], "value": 0.5}])
    assert site.output("study", "fork", "original", "all-of-it") == "all-of-it\n"
    assert site.output("study", "fork", "original", "earlier", 2) == "earlier\n"
    assert [client.study(study)["observations"] for study in ("all-of-it", "earlier")] == [3, 2]
    assert site.run("study", "fork", "original", "earlier").returncode != 0
    assert site.run("study", "fork", "original", "late", "two").returncode == 2
    assert site.output("study", "fork", "original", "changed", 2, "seed=11", 'algorithm={"name": "gp_ei"}') == "changed\n"
    assert site.output("study", "fork", "original", "aimed", "aim=best") == "aimed\n"
    forked = [client.study(study) for study in ("changed", "aimed")]
    assert [(s["observations"], s["algorithm"]["name"]) for s in forked] == [(2, "gp_ei"), (3, "log_ei")], forked
    assert forked[0]["seed"] == 11
    assert site.run("study", "fork", "original", "wrong", "seed").returncode == 2


def test_a_study_goes_out_and_comes_in(site):
    client = site.server.client()
    client.create(definition(id="moved"))
    for _ in range(3):
        trials = client.ask("moved", 2)["trials"]
        client.tell("moved", [{"trial": t["id"], "value": 0.5} for t in trials])
    client.ask("moved", wait_seconds=10)  # the next batch is there
    before, trials = client.study("moved"), client.items("/v1/studies/moved/trials")
    lines = site.output("export", "moved")
    assert lines == site.output("export", "moved", "--format", "ndjson") and lines.count("\n") > 10
    table = site.output("export", "moved", "--format", "csv").splitlines()
    assert len(table) == 1 + len(trials) and table[0].startswith("trial,candidate,"), table[0]
    assert site.run("export", "nobody").returncode == 4
    assert site.run("export", "moved", "--format", "xml").returncode == 1
    (site.folder / "moved.ndjson").write_text(lines)
    assert site.run("study", "import", "moved.ndjson").returncode == 5, "it is there already"
    assert site.output("study", "import", "moved.ndjson", "elsewhere") == "elsewhere\n"
    assert site.run("study", "import", "moved.ndjson", "No Id").returncode == 1
    site.output("study", "delete", "elsewhere")
    client.delete("/v1/studies/moved")
    assert site.output("study", "import", "moved.ndjson") == "moved\n"
    assert client.study("moved") == before and client.items("/v1/studies/moved/trials") == trials
    client.delete("/v1/studies/moved")
    assert site.output("study", "import", "-", stdin=lines) == "moved\n"
    client.delete("/v1/studies/moved")  # or it may be refused for that, before its end is seen
    cut = site.run("study", "import", "-", stdin=lines[:-20])
    assert cut.returncode == 1, cut
    assert site.run("study", "show", "moved").returncode == 4
    assert site.run("study", "import", "absent").returncode == 1
    assert site.run("study", "import", site.folder).returncode == 2


def test_a_list_of_many_pages(site):
    client = site.server.client()
    wanted = [f"s{i:04}" for i in range(1003)]
    for name in wanted:
        client.create({**definition(points=[[0.0]]), "id": name})
    listed = [line.split()[0] for line in site.output("study", "list").splitlines()]
    assert listed == wanted, (len(listed), listed[-3:])


def test_a_damaged_study_is_in_the_list():
    with site_of_tests.site_with_a_damaged_study() as site:
        lines = [line.split()[:2] for line in site.output("study", "list").splitlines()]
        assert lines == [["sound", "active"], ["harmed", "damaged"]], lines
        assert site.run("study", "show", "harmed").returncode == 1


def test_uploads(site):
    domain = {"type": "candidates", "dimension": 2}
    site.server.client().create({**definition(), "id": "s", "domain": domain})
    (site.folder / "points.csv").write_text("a,b\n0,1\n1,2\n2,5\n")
    (site.folder / "points.json").write_text('{"points": [[0, 1], [1, 2]]}')
    (site.folder / "bad.csv").write_text("0,1\n1,two\n")
    (site.folder / "points.txt").write_text("0,1\n")
    assert site.run("ask", "s").returncode == 5
    assert site.output("candidates", "upload", "s", "points.json") == "2 candidates of dimension 2\n"
    assert site.output("candidates", "upload", "s", "points.csv") == "3 candidates of dimension 2\n"
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }".ljust(117) + "\n"
    numbers = struct.pack("<4d", 0, 1, 2, 3)
    (site.folder / "points.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.encode() + numbers)
    assert site.output("candidates", "upload", "s", "points.npy") == "2 candidates of dimension 2\n"
    bad = site.run("candidates", "upload", "s", "bad.csv")
    assert bad.returncode == 1 and "column 2" in bad.stderr, bad
    assert site.run("candidates", "upload", "s", "points.txt").returncode == 2
    assert site.run("candidates", "upload", "s", "absent.csv").returncode == 1
    assert site.run("candidates", "upload", "s", site.folder / "points.csv" / "..").returncode == 2


def test_standard_errors(site):
    learns = {"name": "bbkb", "noise_std": "auto"}
    site.study(algorithm=learns)
    for value, error, shown in (("0.5", "0.25", 0.25), ("0.75", '{"value": 0.125}', 0.125)):
        trial = site.output("ask", "s").split()[0]
        assert site.output("tell", "s", trial, value, "--std-error", error) == "accepted\n"
        assert site.trials()[int(trial) - 1]["std_error"] == shown, site.trials()
    assert site.run("tell", "s", "9", "1", "--std-error", "small").returncode == 2


def test_tell_takes_a_cost(site):
    site.study()
    trial = site.output("ask", "s").split()[0]
    assert site.run("tell", "s", trial, "1", "--cost", "-1").returncode == 2
    assert site.output("tell", "s", trial, "--state", "failed", "--cost", "2.5") == "accepted\n"
    assert site.trials()[int(trial) - 1]["cost"] == 2.5, site.trials()


def test_asking_and_telling(site):
    site.study(horizon=4)
    first = site.output("ask", "s", "--worker", "w").split()
    assert first[:2] == ["1", "attempt=1"], first
    named = dict(word.split("=") for word in first[1:])
    assert set(named) == {"attempt", "candidate", "x", "y"}, named
    trial = site.trials()[0]
    assert [float(named["x"]), float(named["y"])] == trial["point"], (named, trial)
    assert site.output("ask", "s", "--worker", "w").split() == first, "it holds that trial"
    nothing = site.run("ask", "s", "--worker", "other", "--wait", "0")
    assert nothing.returncode == 7 and "awaiting_feedback" in nothing.stderr, nothing

    assert site.output("tell", "s", "1", "-1.5e-1") == "accepted\n"
    assert site.output("tell", "s", "1", "-0.15") == "already reported\n"
    assert site.run("tell", "s", "1", "0.5").returncode == 5
    unknown = site.run("tell", "s", "1", "0.5", "--attempt", "2")
    assert unknown.returncode == 1 and "/results/0/attempt: " in unknown.stderr, unknown
    asked = json.loads(site.output("ask", "s", "--json", "--count", "2"))
    number = asked["trials"][0]["id"]
    assert site.output("tell", "s", number, "--state", "failed", "--reason", "no power") == "accepted\n"
    assert site.run("tell", "s", number, "--values", "[1]").returncode == 2
    told = site.trials()[number - 1]
    assert (told["state"], told["reason"]) == ("failed", "no power"), told

    best = site.output("best", "s").splitlines()
    assert best[0].split()[:3] == ["observed", "trial=1", "candidate=" + named["candidate"]], best
    predicted = [line.split() for line in site.output("predict", "s", "0", named["candidate"]).splitlines()]
    answered = site.server.client().predict("s", candidates=[0, int(named["candidate"])])
    shown = [dict(zip(("mean", "std", "ucb"), map(float, row[1:]))) for row in predicted]
    assert [row[0] for row in predicted] == ["0", named["candidate"]] and shown == answered, predicted


def test_predictions_of_several_metrics(site):
    """A line for each metric, with its name at the end. Recorded metrics have no prediction."""
    client = site.server.client()
    speed = {"name": "top speed", "goal": "maximize"}
    bound, noted = {"name": "cost", "role": "constraint", "at_most": 0.5}, {"name": "noted", "role": "recorded"}
    second = {"name": "strength", "goal": "minimize"}
    for study, metrics in (("two", [speed, second, noted]), ("bound", [speed, bound])):
        new = definition(id=study, metrics=metrics)
        del new["metric"], new["algorithm"]
        client.create(new)
        for i in range(4):
            (trial,) = client.ask(study, 1, wait_seconds=30)["trials"]
            client.tell(study, [{"trial": trial["id"], "values": {metric["name"]: 0.1 + i for metric in metrics}}])
        answered = client.predict(study, candidates=[3, 0])
        expected = [
            (number, figures["mean"], figures["std"], figures["ucb"], name)
            for number, prediction in zip(("3", "0"), answered)
            for name, figures in prediction["values"].items()
        ]
        rows = [line.split(" ", 4) for line in site.output("predict", study, 3, 0).splitlines()]
        assert [(row[0], *map(float, row[1:4]), row[4]) for row in rows] == expected, (rows, expected)
        first = site.output("candidates", "list", study, "--sort", f"mean.{metrics[1]['name']}").splitlines()[0]
        best = client.items(f"/v1/studies/{study}/candidates?sort=mean.{metrics[1]['name']}")[0]
        assert int(first.split()[0]) == best["candidate"], (first, best)
        assert all(f"{name}={figures['mean']}" in first for name, figures in best["posterior"]["values"].items()), first
        assert len(expected) == 4 and {row[4] for row in rows} == {metric["name"] for metric in metrics} - {"noted"}, rows
    with server_that_says(b'{"predictions": [{"mean": 1.5, "ucb": null}]}') as url:
        assert site.output("predict", "two", 7, BANDITD_URL=url) == "7 1.5 - -\n", "a figure that is absent is not 0"


def test_exit_statuses(site):
    site.study()
    cases = {
        2: [
            ["sudy", "list"],
            ["study"],
            ["study", "show"],
            ["study", "show", "s", "t"],
            ["study", "list", "--jobs", "3"],
            ["ask", "s", "--count", "0"],
            ["ask", "s", "--count", "1.5"],
            ["ask", "s", "--count"],
            ["ask", "s", "--fresh=yes"],
            ["ask", "s", "--worker="],
            ["tell", "s", "1"],
            ["tell", "s", "1", "nan"],
            ["tell", "s", "one", "1"],
            ["predict", "s", "-1"],
            ["ping", "--url", "nonsense"],
            ["work", "s"],
            ["work", "s", "-j", "0", "--", "true"],
            ["work", "s", "--url", "nonsense", "--", "true"],
            ["ask", "s", "--fixed", "7"],
            ["tell", "s", "1", "--values", "{"],
        ],
        3: [["ping", "--url", "http://127.0.0.1:1"], ["study", "list", "--url", "unix:/nowhere"]],
        4: [
            ["study", "show", "absent"],
            ["ask", "no such"],
            ["work", "../x", "--", "true"],
            ["tell", "absent", "1", "1"],
        ],
        1: [["tell", "s", "77", "1"], ["study", "create", "absent.json"]],
        0: [["study", "list"], ["--help"], ["version"], ["--version"], ["ping"]],
    }
    for status, commands in cases.items():
        for command in commands:
            done = site.run(*command)
            assert done.returncode == status, (command, status, done)
            assert bool(done.stderr) == (status != 0), (command, done)


@contextlib.contextmanager
def server_that_says(body):
    """Some server that answers everything with 200 and these bytes. -> its URL"""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Page) as page:
        threading.Thread(target=page.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{page.server_port}"
        page.shutdown()


OBEYED = "a\x1b[31m\nb\t\x7f\x9b2J\u202ec"
SHOWN = r"a\u001b[31m\u000ab\u0009\u007f\u009b2J\u202ec"


def test_texts_of_others_do_not_steer_the_terminal(site):
    client = site.server.client()
    new = definition([[x / 10, 0.5] for x in range(11)], id="s", display_name=f"Zoë {OBEYED} →")
    new["domain"]["names"] = [OBEYED, "y"]
    client.create(new)
    said = site.output("study", "show", "s")
    assert f"name                 Zoë {SHOWN} →\n" in said, said
    assert f" {SHOWN}=" in site.output("ask", "s")
    refused = site.run("study", "create", "-", stdin=json.dumps({**definition(), OBEYED: 1}))
    assert refused.returncode == 1 and f"/{SHOWN}: " in refused.stderr, refused
    unknown = site.run("work", "s", "--", "true", "{unknown}")
    assert unknown.returncode == 2 and f" {{{SHOWN}}}" in unknown.stderr, unknown
    for text in (said, refused.stderr, unknown.stderr):
        assert text.replace("\n", "").isprintable(), text
    # A program reads what there is.
    assert json.loads(site.output("study", "show", "s", "--json"))["display_name"] == new["display_name"]


def test_another_server_does_not_steer_the_terminal(site):
    """In ours the ids and states of studies have letters, digits, '.', '_' and '-' only."""
    study = {"id": OBEYED, "state": OBEYED, "best": {"value": OBEYED, OBEYED: 1}}
    answer = {"items": [study], "damaged": [OBEYED], "observed": study["best"], "trials": [], "reason": OBEYED, **study}
    lines = {
        ("study", "list"): [f"{SHOWN} {SHOWN} 0 - -", f"{SHOWN} damaged"],
        ("study", "show", "s"): [f"id {SHOWN}", f"state {SHOWN}", "algorithm", f"best value {SHOWN} (trial 0)"],
        ("best", "s"): [f"observed value={SHOWN} {SHOWN}=1", "recommended none yet"],
        ("watch", "s", "--once"): [f"state={SHOWN} told=0 failed=0 pending=0 batches=0 best=- rate=-"],
        ("complete", "study", "show", ""): [SHOWN, SHOWN],
    }
    with server_that_says(json.dumps(answer).encode()) as url:
        for command, expected in lines.items():
            said = site.output(*command, BANDITD_URL=url).split("\n")
            assert [" ".join(line.split()) for line in said] == [*expected, ""], (command, said)
        nothing = site.run("ask", "s", BANDITD_URL=url)
        assert nothing.stderr == f"banditctl: no trial can be handed out now: {SHOWN}\n", nothing


def test_an_answer_of_something_else(site):
    """A server that is none of ours answers 200 with a page: nothing was made, shown or told."""
    with server_that_says(b"<html>") as url:
        for command in (["study", "list"], ["study", "show", "s", "--json"], ["ask", "s"], ["tell", "s", "1", "1"]):
            done = site.run(*command, "--url", url)
            assert (done.returncode, done.stdout) == (1, "") and "is not JSON" in done.stderr, (command, done)


def test_an_export_that_cannot_be_written(site):
    site.study()
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [site_of_tests.BANDITCTL, "export", "s"], stdout=full, stderr=subprocess.PIPE, text=True, env=site.environment(), check=False
        )
    assert done.returncode == 1 and "cannot write" in done.stderr and "no answer" not in done.stderr, done


def test_a_refused_definition_names_every_error(site):
    bad = {**definition(), "horizon": 0, "seed": "x"}
    done = site.run("study", "create", "-", stdin=json.dumps(bad))
    assert done.returncode == 1, done
    assert "/horizon: " in done.stderr and "/seed: " in done.stderr, done.stderr


def test_the_token_is_sent_and_only_in_its_header(site):
    """Against a server of a few lines, which shows what it was sent."""
    with subprocess.Popen(["python3", "-c", ECHO], stdout=subprocess.PIPE, text=True, env=site.environment()) as echo:
        port = echo.stdout.readline().strip()
        try:
            said = site.output("ping", "--json", "--url", f"http://127.0.0.1:{port}/", BANDITD_TOKEN="secret")
        finally:
            echo.kill()
    seen = json.loads(said)
    assert seen["path"] == "/readyz" and seen["authorization"] == "Bearer secret", seen


ECHO = """
import http.server, json
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"path": self.path, "authorization": self.headers["Authorization"]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


def test_ping_waits_for_the_server(site):
    site.server.stop()
    waiting = site.start("ping", "--wait", "30")
    time.sleep(0.5)
    assert waiting.poll() is None, site.log()
    site.server.start()
    assert site_of_tests.ended(waiting) == 0, site.log()


def test_watch(site):
    site.study(horizon=4)
    line = dict(word.split("=") for word in site.output("watch", "s", "--once").split())
    assert line["state"] == "active" and line["told"] == "0" and line["best"] == "-", line
    watching = site.start("watch", "s", "--interval", "0.1")
    site.output("work", "s", "-q", "--", "echo", "{x}")
    assert site_of_tests.ended(watching) == 0, "it ends with the study"
    last = dict(word.split("=") for word in site.log().splitlines()[-1].split())
    best = max(trial["value"] for trial in site.trials())
    assert last["told"] == "4" and float(last["best"]) == best, last


def test_watch_on_a_terminal(site):
    site.study(horizon=4)
    site.output("work", "s", "-q", "--", "echo", "{x}")
    command = f"{site_of_tests.BANDITCTL} watch s --once"
    drawn = subprocess.run(
        ["script", "-qec", command, "/dev/null"],
        capture_output=True,
        text=True,
        env=site.environment(),
        check=True,
        timeout=60,
    ).stdout
    assert "4/4, 100 %" in drawn and "working:" in drawn and drawn.startswith("\033[H"), drawn


def test_help_of_every_command(site):
    listed = [line[2:33] for line in site.output("--help").split("commands:\n")[1].split("\noptions")[0].splitlines()]
    names = [" ".join(word for word in line.split() if word.islower()) for line in listed if line.strip()]
    assert len(names) > 15, names
    for name in names:
        text = site.output(*name.split(), "--help")
        assert text.startswith(f"usage: banditctl {name} ") and "--url URL" in text, text
        assert max(map(len, text.splitlines())) <= 100, text


def test_completion(site):
    site.study()

    def offered(*words):
        return site.output("complete", *words).split()

    assert offered("stu") == ["study"]
    assert set(offered("study", "")) >= {"create", "list", "show"}
    assert offered("study", "sh") == ["show"]
    assert offered("study", "show", "") == ["s"] == offered("ask", "s")
    assert offered("ask", "t") == []
    assert offered("ask", "s", "--w") == ["--worker", "--wait"]
    assert offered("work", "s", "--", "l") == []


def test_a_unix_socket(site):
    socket = site.folder / "socket"
    command = [
        Server.__init__.__globals__["BINARY"],
        "serve",
        "--listen",
        f"unix:{socket}",
        "--db",
        site.folder / "u.db",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            process.stdout.readline()
            assert site.run("ping", "--url", f"unix:{socket}").returncode == 0
        finally:
            process.terminate()


def test_unknown_commands(site):
    for words in (["frob"], ["study", "frob"], ["candidates", "frob", "s"]):
        for before in ([], ["--url", "http://x"]):
            done = site.run(*before, *words)
            assert done.returncode == 2 and f"unknown command '{' '.join(words[:2])}'" in done.stderr, done
    for words in (["study"], ["study", "frob"], ["--url", "http://x", "study"]):
        done = site.run(*words)
        assert done.returncode == 2 and "must be followed by one of: create import" in done.stderr, done


# ---- tokens --------------------------------------------------------------------------------------------------


def test_a_server_that_wants_tokens():
    """banditctl, the Python package and the scripts send BANDITD_TOKEN, and say what is wrong without."""
    with site_of_tests.Site("--auth", "token") as site:
        site.server.token = run_to_end("token", "create", "--role", "admin", "--db", str(site.server.db))[1].strip()
        site.server.client().create(definition(id="mine"))
        worker = site.server.client().post("/v1/tokens", {"role": "worker", "study": "mine"}).json["token"]
        without = site.run("study", "list")
        assert without.returncode != 0 and "token" in without.stderr, without
        assert site.run("ask", "mine").returncode != 0
        torn = site.run("study", "list", BANDITD_TOKEN=worker + "\r\n")
        assert torn.returncode == 2 and "BANDITD_TOKEN" in torn.stderr and worker not in torn.stderr, torn
        assert site.output("study", "list", BANDITD_TOKEN=worker).split()[0] == "mine"
        assert json.loads(site.output("ask", "mine", "--json", BANDITD_TOKEN=worker))["trials"]
        forbidden = site.run("study", "pause", "mine", BANDITD_TOKEN=worker)
        assert forbidden.returncode != 0 and "does not allow" in forbidden.stderr, forbidden
        script = "import banditd; print(len(list(banditd.Client().studies())))"
        package = pathlib.Path(__file__).resolve().parents[2] / "clients" / "python" / "src"
        for token, status in ((worker, 0), ("wrong", 1)):
            environment = site.environment(BANDITD_TOKEN=token, PYTHONPATH=str(package))
            done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
            assert done.returncode == status, done
            assert done.stdout == "1\n" if status == 0 else "token" in done.stderr, done


def test_candidates_and_results_are_changed(site):
    site.study(horizon=50)
    before = json.loads(site.output("study", "show", "s", "--json"))["candidates"]
    (site.folder / "more.csv").write_text("0.25,0.5\n0.75,0.5\n")
    assert site.output("candidates", "add", "s", "more.csv") == "2 candidates added\n"
    assert site.output("candidates", "retire", "s", before, before + 1) == "2 candidates retired\n"
    assert site.output("candidates", "restore", "s", before) == "1 candidate restored\n"
    lines = site.output("candidates", "list", "s").splitlines()
    assert len(lines) == before + 2 and [line.endswith("retired") for line in lines[-2:]] == [False, True], lines
    assert site.output("propose", "s", 2) == "1\n" and "candidate=2" in site.output("ask", "s")
    site.output("tell", "s", 1, 0.5)
    site.output("amend", "s", 1, 0.75, "--reason", "a slip")
    assert site.server.client().read("s", "trials/1")["value"] == 0.75
    site.output("amend", "s", 1, "--state", "failed")
    assert site.server.client().read("s", "trials/1")["state"] == "failed"
    (site.folder / "earlier.csv").write_text("candidate,value\n1,0.2\n3,0.1\n")
    assert site.output("import", "s", "earlier.csv") == "2 results imported, from number 1\n"
    (site.folder / "noted.csv").write_text("candidate,value,date,operator\n1,0.2,monday,ann\n")
    assert site.run("import", "s", "noted.csv").returncode == 1
    assert site.output("import", "s", "noted.csv", "--ignore", "date,operator") == "1 result imported, from number 3\n"
    for wrong in (("propose", "s", "two"), ("amend", "s", 1), ("amend", "s", 1, "high"), ("candidates", "retire", "s", "x"), ("import", "s", "x.txt")):
        assert site.run(*wrong).returncode == 2, wrong


def test_candidates_by_key(site):
    client = site.server.client()
    domain = {"type": "candidates", "points": [[0], [1], [2]], "keys": ["CCO", None, "7"]}
    client.create({"id": "k", "metric": {"name": "y", "goal": "maximize"}, "domain": domain})
    assert site.output("propose", "k", "--key", "7") == "1\n"
    assert client.read("k", "trials/1")["candidate"] == 2
    assert site.output("candidates", "retire", "k", "--key", "CCO") == "1 candidate retired\n"
    (line,) = site.output("candidates", "list", "k", "--retired", "true").splitlines()
    assert line.split()[0] == "0" and line.endswith("retired CCO"), line
    assert len(site.output("candidates", "list", "k", "--retired", "false", "--pulls", 0).splitlines()) == 2
    assert site.run("candidates", "list", "k", "--retired", "maybe").returncode == 1
    assert site.output("candidates", "restore", "k", "--key", "CCO") == "1 candidate restored\n"
    by_key = [line.split()[1:] for line in site.output("predict", "k", "--key", "CCO", "7").splitlines()]
    assert by_key == [line.split()[1:] for line in site.output("predict", "k", 0, 2).splitlines()]
    assert site.run("predict", "k", "--key", "nothing").returncode == 1
    for command in ("predict", "propose"):
        refused = site.run(command, "k", "CCO")
        assert refused.returncode == 2 and "with --key" in refused.stderr, refused
    (site.folder / "more.csv").write_text("key,x,shelf\nO,5,top\n")
    assert site.run("candidates", "add", "k", "more.csv").returncode == 1
    assert site.output("candidates", "add", "k", "more.csv", "--ignore", "shelf") == "1 candidate added\n"


def test_a_study_is_set_renamed_and_copied(site):
    site.study()
    site.output("study", "set", "s", "horizon=77", "display_name=two words")
    assert site.output("study", "clone", "s", "copy") == "copy\n"
    site.output("study", "rename", "copy", "The copy")
    shown = [json.loads(site.output("study", "show", name, "--json")) for name in ("s", "copy")]
    assert [(study["horizon"], study["display_name"]) for study in shown] == [(77, "two words"), (77, "The copy")]
    assert site.run("study", "set", "s", "horizon").returncode == 2
    assert site.run("study", "set", "s", "horizn=3").returncode == 1
    assert site.run("study", "clone", "s", "copy").returncode == 5


def test_options_before_the_command_and_addresses_without_a_scheme(site):
    site.study()
    address = f"localhost:{site.server.port}"
    assert site.output("--url", address, "--json", "study", "show", "s").startswith("{")
    assert site.output("--url=" + address, "best", "s").startswith("observed")
    assert site.run("--url").returncode == 2 and site.run("--json", "nope").returncode == 2
    assert "STUDY" in site.output("help", "ask") and site.output("help", "ask") == site.output("ask", "--help")
    for words in (("help", "study"), ("study", "--help")):
        assert "study clone STUDY ID" in site.output(*words), words
    assert site.run("help", "nope").returncode == 2


def test_certificates_of_its_own_authority(site):
    bad = site.folder / "none.pem"
    for words, environment in (((f"--cacert={bad}",), {}), ((), {"BANDITD_CACERT": str(bad)})):
        done = site.run(*words, "ping", "--url", "https://127.0.0.1:1", **environment)
        assert done.returncode == 3, done
