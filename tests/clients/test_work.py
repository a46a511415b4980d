"""banditctl work: whatever happens to the command, to its worker and to the server."""

import json
import os
import signal
import socket
import time

from site_of_tests import alive, ended
from support import definition, eventually, grid


def told(site):
    return {trial["id"]: trial for trial in site.trials()}


def begun(site):
    """The trials that have been handed out; a batch may have more."""
    return [trial for trial in site.trials() if trial["attempt"] > 0]


def test_the_value_is_the_last_line(site):
    site.study(horizon=3)
    script = site.script('echo 7; echo "[{x}]"; printf "%s\\n\\n  " "$1"')
    site.output("work", "s", "--", script, "{x}")
    for trial in told(site).values():
        assert trial["state"] == "completed" and trial["value"] == trial["point"][0], trial


def test_the_value_from_a_file(site):
    site.study(horizon=2)
    script = site.script('echo 1; echo " $BANDIT_PARAM_Y" > "$BANDIT_VALUE_FILE"')
    site.output("work", "s", "--", script)
    for trial in told(site).values():
        assert trial["value"] == trial["point"][1], trial


def test_values_by_name(site):
    site.study(horizon=1)
    site.output("work", "s", "--", "echo", '{"value": 0.25}')
    assert told(site)[1]["value"] == 0.25, told(site)


def test_a_metric_that_the_study_does_not_have(site):
    """The value can never be told: the trial has failed, and the work does not go round in circles."""
    site.study(horizon=2)
    done = site.run("work", "s", "--", "echo", '{"speed": 1}')
    assert done.returncode == 0 and "refused" in done.stderr, done
    assert [trial["state"] for trial in site.trials()] == ["failed"] * 2, told(site)


def test_values_that_the_study_does_not_take_are_failures(site):
    """A number says nothing of two metrics. The refusals count in the summary and in the row, which ends the work."""
    point = {"type": "space", "parameters": [{"name": "x", "type": "double", "min": 0, "max": 1}]}
    metrics = [{"name": name, "goal": "maximize"} for name in ("speed", "strength")]
    site.server.client().create({"id": "s", "metrics": metrics, "domain": point})
    done = site.run("work", "s", "--max-failures", "3", "--", "echo", "0.9")
    assert done.returncode == 1 and "3 failures in a row" in done.stderr, done
    assert "0 trials completed, 3 failed" in done.stderr, done
    assert [trial["state"] for trial in begun(site)] == ["failed"] * 3, begun(site)


def test_what_a_command_gets(site):
    site.study(horizon=1)
    script = site.script(
        'printf "%s\\n" "$@" > words; env | grep ^BANDIT_ | sort > variables\n'
        'cp "$BANDIT_TRIAL_FILE" file.json; cat > input; echo 1'
    )
    words = [
        "{x}",
        "--y={y}",
        "{trial}/{attempt}/{candidate}",
        "{study} {worker}",
        "${x}",
        "{{x}}",
        "{}",
        '{"a": 1}',
        "{ x }",
    ]
    site.output("work", "s", "--name", "lab", "--", script, *words, BANDIT_OLD="1")
    trial = told(site)[1]
    x, y = (repr(value).removesuffix(".0") for value in trial["point"])
    c = trial["candidate"]
    assert (site.folder / "words").read_text().splitlines() == [
        x, f"--y={y}", f"1/1/{c}", "s lab-1", "${x}", "{x}", "{}", '{"a": 1}', "{ x }",
    ], (site.folder / "words").read_text()  # fmt: skip
    variables = dict(line.split("=", 1) for line in (site.folder / "variables").read_text().splitlines())
    assert set(variables) == {"BANDIT_" + name for name in VARIABLES.split()}, variables
    assert variables["BANDIT_PARAM_X"] == x and variables["BANDIT_TRIAL"] == "1", variables
    assert json.loads((site.folder / "file.json").read_text()) == {
        "study": "s",
        "trial": 1,
        "attempt": 1,
        "worker": "lab-1",
        "candidate": c,
        "parameters": dict(zip("xy", trial["point"])),
    }
    assert (site.folder / "input").read_text() == ""


VARIABLES = "STUDY WORKER TRIAL ATTEMPT TRIAL_FILE VALUE_FILE CANDIDATE PARAM_X PARAM_Y"


def test_features_without_names(site):
    client = site.server.client()
    client.create({"id": "s", "metric": {"name": "v", "goal": "minimize"}, "horizon": 2, "domain": {"type": "candidates",
                   "points": [[1, 20], [3, 40]]}, "algorithm": {"kernel": {"lengthscale": 1}, "noise_std": 1}})  # fmt: skip
    site.output("work", "s", "--", "echo", "{x1}")
    assert {trial["value"] for trial in site.trials()} <= {20, 40}


def test_an_unknown_name_is_an_error_at_once(site):
    site.study()
    done = site.run("work", "s", "--", "echo", "{z}")
    assert done.returncode == 2 and "{z}" in done.stderr and "{x}" in done.stderr, done
    assert site.trials() == []


def failures(site, script, *options):
    """Runs one trial. -> it"""
    site.study(horizon=1)
    done = site.run("work", "s", *options, "--", site.script(script))
    assert done.returncode == 0, done
    return told(site)[1]


def test_an_exit_status_is_a_failure(site):
    trial = failures(site, "echo 1; exit 3")
    assert (trial["state"], trial["reason"]) == ("failed", "exit status 3"), trial


def test_a_signal_is_a_failure(site):
    trial = failures(site, "echo 1; kill -9 $$")
    assert trial["state"] == "failed" and trial["reason"].startswith("killed by signal 9"), trial


def test_no_value_is_a_failure(site):
    site.study(horizon=3)
    script = site.script('case "$1" in 1) ;; 2) echo nan ;; 3) echo 1 2 ;; esac')
    site.output("work", "s", "--", script, "{trial}")
    for trial, reason in zip(site.trials(), ("printed nothing", "'nan'", "'1 2'")):
        assert trial["state"] == "failed" and reason in trial["reason"], trial


def test_a_time_out_ends_the_whole_group(site):
    """Also what the command has started."""
    start = time.monotonic()
    trial = failures(site, f"sleep 100 & echo $! > {site.folder}/pid; wait; echo 1", "--timeout", "0.5")
    assert trial["state"] == "failed" and trial["reason"] == "took longer than --timeout (0.5 s)", trial
    assert time.monotonic() - start < 8
    pid = int((site.folder / "pid").read_text())
    eventually(lambda: not alive(pid), "the end of the command's child", 5)


def test_a_time_out_of_a_command_that_ignores_sigterm(site):
    trial = failures(site, "trap '' TERM; while :; do sleep 1; done", "--timeout", "0.2")
    assert trial["reason"] == "took longer than --timeout (0.2 s)", trial


def test_infeasible(site):
    trial = failures(site, "exit 9", "--infeasible-status", "9")
    assert (trial["state"], trial["reason"]) == ("infeasible", "exit status 9"), trial


def test_failures_are_tried_again(site):
    site.study(horizon=1, max_attempts=3)
    script = site.script('echo 1; test "$BANDIT_ATTEMPT" = 3')
    site.output("work", "s", "--retry", "--", script)
    trial = told(site)[1]
    assert (trial["state"], trial["attempt"]) == ("completed", 3), trial


def test_too_many_failures_stop_the_work(site):
    site.study()
    done = site.run("work", "s", "--max-failures", "3", "--", "false")
    assert done.returncode == 1 and "3 failures in a row" in done.stderr, done
    assert [trial["state"] for trial in begun(site)] == ["failed"] * 3, begun(site)


def test_a_program_that_is_not_there(site):
    """Its trial goes back, as nobody has tried it."""
    site.study()
    done = site.run("work", "s", "--", "/no/such/program")
    assert done.returncode == 1 and "cannot run /no/such/program" in done.stderr, done
    assert {trial["state"] for trial in site.trials()} == {"queued"}, site.trials()


def test_a_study_that_is_deleted(site):
    site.study()
    work = site.start("work", "s", "--", site.script("sleep 0.2; echo 1"))
    eventually(lambda: len(site.trials()) > 1)
    site.server.client().delete("/v1/studies/s")
    assert ended(work) == 4, site.log()


def test_a_paused_study_and_one_that_is_finished(site):
    site.study()
    client = site.server.client()
    assert client.request("PATCH", "/v1/studies/s", {"state": "paused"}).status == 200
    work = site.start("work", "s", "-j", "2", "--", "echo", "1")
    time.sleep(1)
    assert work.poll() is None and site.trials() == [], site.log()
    assert client.request("PATCH", "/v1/studies/s", {"state": "active"}).status == 200
    eventually(lambda: len(site.trials()) > 5)
    assert client.request("PATCH", "/v1/studies/s", {"state": "finished"}).status == 200
    assert ended(work, 15) == 0, site.log()


def test_a_study_without_further_points_is_not_called_finished(site):
    """It remains active, because candidates may be added."""
    site.study(points=grid(3), repeats="never")
    done = site.run("work", "s", "--", "echo", "1")
    assert done.returncode == 0 and f"{len(grid(3))} trials completed, 0 failed; the study is exhausted" in done.stderr, done
    assert "finished" not in done.stderr, done
    assert site.server.client().study("s")["state"] == "active"


def test_a_study_that_awaits_its_candidates(site):
    new = {**definition(id="s", horizon=2), "domain": {"type": "candidates", "dimension": 1}}
    site.server.client().create(new)
    work = site.start("work", "s", "--", "echo", "{x0}")
    eventually(lambda: "; waiting" in site.log())
    assert work.poll() is None
    (site.folder / "points.csv").write_text("0.5\n1.5\n")
    site.output("candidates", "upload", "s", "points.csv")
    assert ended(work, 30) == 0, site.log()
    assert len(begun(site)) == 2


def test_heartbeats_keep_a_trial(site):
    """It takes three times the lease, and a second worker would take it."""
    site.study(horizon=1)
    script = site.script('sleep 3; echo "$BANDIT_ATTEMPT"')
    work = site.start("work", "s", "--lease", "1", "--", script)
    client = site.server.client()
    eventually(site.trials)
    while work.poll() is None:
        assert client.ask("s", worker="other", wait_seconds=0.2)["trials"] == []
    trial = told(site)[1]
    assert (trial["state"], trial["value"], trial["attempt"]) == ("completed", 1, 1), trial


def test_the_lease_of_another_worker_is_left_alone(site):
    """The worker stood still, and its trial has gone to another one; its value is taken all the same."""
    site.study(horizon=1)
    go = site.folder / "go"
    script = site.script(f"until test -e {go}; do sleep 0.1; done; echo 1")
    work = site.start("work", "s", "--lease", "1", "--", script)
    client = site.server.client()
    eventually(lambda: begun(site))
    work.send_signal(signal.SIGSTOP)
    (held,) = eventually(lambda: client.ask("s", worker="other", lease_seconds=600)["trials"])
    work.send_signal(signal.SIGCONT)
    eventually(lambda: "the lease is lost" in site.log())
    (trial,) = site.trials()
    assert (trial["attempt"], trial["lease_expires_at"]) == (2, held["lease_expires_at"]), (trial, held)
    go.touch()
    assert ended(work) == 0, site.log()
    assert told(site)[1]["state"] == "completed", site.trials()


def test_slots_have_names_of_their_own(site):
    site.study(horizon=40)
    script = site.script("sleep 0.05; echo 1")
    works = [site.start("work", "s", "-j", "2", "--name", "lab", "--", script) for _ in range(2)]
    assert [ended(work) for work in works] == [0, 0], site.log()
    assert {trial["worker"] for trial in site.trials()} == {"lab-1", "lab-2", "lab-3", "lab-4"}


def test_a_killed_worker_gets_its_trial_again(site):
    site.study(horizon=1)
    script = site.script(f"echo $$ >> {site.folder}/pids; test -e {site.folder}/go || sleep 100; echo 1")
    work = site.start("work", "s", "--", script)
    pids = site.folder / "pids"
    eventually(lambda: pids.exists() and pids.read_text().strip())
    work.kill()
    ended(work)
    pid = int(pids.read_text())
    eventually(lambda: not alive(pid), "the end of the command of a killed worker", 5)
    (site.folder / "go").touch()
    site.output("work", "s", "--", script)
    trial = told(site)[1]
    assert (trial["state"], trial["attempt"]) == ("completed", 1), trial


def test_sigterm_lets_the_command_end(site):
    site.study()
    started = site.folder / "started"
    work = site.start("work", "s", "--", site.script(f"touch {started}; sleep 1; echo 5"))
    eventually(started.exists)
    work.send_signal(signal.SIGTERM)
    assert ended(work) == 8, site.log()
    assert [(trial["state"], trial["value"]) for trial in begun(site)] == [("completed", 5)], begun(site)


def test_a_second_signal_gives_the_trial_back(site):
    site.study()
    started = site.folder / "started"
    work = site.start("work", "s", "--", site.script(f"echo $$ > {started}; exec sleep 100"))
    eventually(lambda: started.exists() and started.read_text().strip())
    work.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert work.poll() is None
    work.send_signal(signal.SIGINT)
    assert ended(work, 10) == 8, site.log()
    assert not alive(int(started.read_text()))
    assert {trial["state"] for trial in site.trials()} == {"queued"}, site.trials()


def test_a_result_that_waits_for_the_server(site):
    site.study(horizon=2)
    started = site.folder / "started"
    work = site.start("work", "s", "--", site.script(f"touch {started}; sleep 1; echo 5"))
    eventually(started.exists)
    site.server.kill()
    time.sleep(2)
    assert work.poll() is None, site.log()
    site.server.start()
    assert ended(work) == 0, site.log()
    assert [trial["value"] for trial in site.trials()] == [5, 5], site.trials()


def test_giving_up(site):
    site.study()
    site.server.stop()
    start = time.monotonic()
    done = site.run("work", "s", "--give-up", "1", "--", "true")
    assert done.returncode == 3 and time.monotonic() - start < 10, done
    site.server.start()


def test_signals_while_there_is_no_server(site):
    site.server.stop()
    work = site.start("work", "s", "--", "true")
    eventually(lambda: "trying again" in site.log())
    work.send_signal(signal.SIGTERM)
    assert ended(work, 5) == 8, site.log()
    site.server.start()


def test_a_network_that_loses_connections(site):
    """Through a listener that drops two of three connections, at once or after the request."""
    site.study(horizon=20)
    with Unreliable(site.server.port) as network:
        done = site.run("work", "s", "-j", "2", "--url", f"http://127.0.0.1:{network.port}", "--", "echo", "{x}")
    assert done.returncode == 0, done
    assert network.dropped > 5, network.dropped
    for trial in site.trials():
        assert trial["state"] == "completed" and trial["value"] == trial["point"][0], trial


class Unreliable:
    """Answers every third connection through to the server, and then closes it."""

    def __init__(self, port):
        import threading

        self.target, self.dropped, self.seen = port, 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *unused):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self.seen += 1
                self.exchange(connection, self.seen % 3)

    def exchange(self, connection, fate):
        if fate == 0:
            self.dropped += 1
            return
        request = connection.recv(65536)
        with socket.create_connection(("127.0.0.1", self.target)) as server:
            server.sendall(request)
            answer = server.recv(65536)
        if fate == 1:
            self.dropped += 1  # the server has heard it, the client gets no answer
            return
        connection.sendall(answer.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))


def test_200_trials_while_everything_is_killed(site):
    """The server three times, the worker process twice, a command twice: every trial is told, and rightly."""
    site.study(horizon=200, algorithm={"ratio_bound": 4})
    log = site.folder / "pids"
    script = site.script(f'echo "$$ $BANDIT_TRIAL" >> {log}; sleep 0.05; echo "$1"')
    command = ("work", "s", "-j", "4", "-q", "--lease", "5", "--retry", "--", script, "{x}")
    work = site.start(*command)
    client = site.server.client

    def progress(trials):
        eventually(lambda: client().study("s")["trials_completed"] >= trials, f"{trials} trials", 120)

    def kill_a_command():
        """The youngest one that is alive."""

        def killed():
            for line in reversed(log.read_text().splitlines()[-4:]):
                try:
                    os.kill(int(line.split()[0]), signal.SIGKILL)
                except ProcessLookupError:
                    continue
                return True
            return False

        eventually(killed, "a command to kill", 30)

    for trials, victim in (
        (20, "server"),
        (50, "worker"),
        (70, "command"),
        (90, "server"),
        (120, "worker"),
        (140, "command"),
        (170, "server"),
    ):
        progress(trials)
        if victim == "server":
            site.server.kill()
            time.sleep(0.5)
            site.server.start()
        elif victim == "worker":
            work.kill()
            ended(work)
            work = site.start(*command)
        else:
            kill_a_command()
    assert ended(work, 120) == 0, site.log()
    study = client().study("s")
    assert (study["trials_completed"], study["trials_failed"]) == (200, 0), study
    assert study["observations"] == 200, study
    trials = site.trials()
    assert len(trials) == 200
    for trial in trials:
        assert trial["value"] == trial["point"][0], trial
    assert sum(trial["attempt"] > 1 for trial in trials) <= 2, "only what the killed commands had was tried again"
