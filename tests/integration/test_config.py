"""Options: their sources, which source takes precedence, and the documents made from them."""

import concurrent.futures
import pathlib
import re
import select
import subprocess
import tempfile

import server as servers
from server import Server, run_to_end
from support import cases, definition, grid, refusal

ROOT = pathlib.Path(__file__).resolve().parents[2]


def written(folder, text):
    path = pathlib.Path(folder) / "banditd.conf"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def body_limit(server):
    """The limit that the server names when a body is larger."""
    return refusal(server.client().post("/v1/studies", " " * 70000, content_type="application/json"), 413)["detail"]


def test_command_line_over_environment_over_file_over_default():
    with tempfile.TemporaryDirectory() as folder:
        path = written(folder, "# limits\r\n\r\nmax-body = 11KiB\n  log-format\t=\tjson  \nallowed-host =\n")
        for options, environment, limit in (
            ([], {}, 11),
            ([], {"BANDITD_MAX_BODY": "12KiB"}, 12),
            (["--max-body", "13KiB"], {"BANDITD_MAX_BODY": "12KiB"}, 13),
            (["--max-body=14KiB"], {}, 14),
        ):
            with Server("--config", path, *options, environment=environment) as server:
                assert f" {limit * 1024} bytes" in body_limit(server), (options, environment)
                assert server.stop().startswith("{"), "log-format of the file"
        with Server(environment={"BANDITD_CONFIG": path}) as server:
            assert f" {11 * 1024} bytes" in body_limit(server)
        other = pathlib.Path(folder) / "other.conf"
        other.write_text("max-body = 20KiB")
        with Server("--config", other, environment={"BANDITD_CONFIG": path}) as server:
            assert f" {20 * 1024} bytes" in body_limit(server)


def test_the_file_of_the_command_line_over_a_database_of_the_environment():
    """And over one of the configuration file; for each command that has --db."""
    with tempfile.TemporaryDirectory() as folder:
        elsewhere = "postgresql://127.0.0.1:1/nowhere"
        path = written(folder, f"database = {elsewhere}\n")
        for i, source in enumerate(({"BANDITD_DATABASE": elsewhere}, {"BANDITD_CONFIG": path})):
            environment = {**source, "BANDITD_DATABASE_PATIENCE": "1"}
            db = f"{folder}/{i}.db"
            with Server(db=db, environment=environment) as server:
                server.client().create(definition(id="study"))
            for command in (
                ["migrate"],
                ["check", "--quiet"],
                ["backup", f"{folder}/{i}.copy"],
                ["export", "study", f"{folder}/{i}.ndjson"],
                ["import", f"{folder}/{i}.ndjson", "--id", "again"],
                ["token", "create", "--role", "admin"],
                ["token", "list"],
            ):
                status, out, err = run_to_end(*command, "--db", db, environment=environment)
                assert (status, err) == (0, ""), (source, command, status, out, err)
            for others in ([], ["--db", db, "--database", elsewhere]):
                status, out, err = run_to_end("check", *others, environment=environment)
                assert status == 1 and "127.0.0.1" in err, (source, others, status, out, err)


def test_misspelled_variables_are_warned_of():
    with Server(environment={"BANDITD_MAXBODY": "3", "BANDITD_MAX_BODY": "12KiB", "BANDITD_URL": "http://x"}) as server:
        log = server.stop()
    named = re.findall(r"unknown_variable name=(\S+)", log)
    assert "BANDITD_MAXBODY" in named and not {"BANDITD_MAX_BODY", "BANDITD_URL"} & set(named), log


def test_limits_beyond_the_memory_are_warned_of():
    for total, limits in (("64MiB", []), ("100000GiB", ["102400064MiB"])):
        with Server("--total-memory", total, "--max-buffered", "64MiB") as server:
            log = server.stop()
        assert re.findall(r"memory_limits_too_high limits=(\S+)", log) == limits, log


WRONG = {
    "unknown": ("db = x\nmax-bodyy = 1\n", "line 2: unknown option 'max-bodyy'"),
    "value": ("max-body = many\n", "line 1: 'many' is not a valid value for max-body (a number of bytes"),
    "zero": ("max-studies = 0\n", "line 1: '0' is not a valid value"),
    "switch": ("insecure = yes\n", "true or false"),
    "twice": ("db = x\n\ndb = y", "line 3: db is already set in line 1"),
    "no_equals": ("db\n", "line 1: not of the form 'name = value'"),
    "no_name": ("= x\n", "line 1: the name"),
    "dashes": ("--DB = x\n", "line 1: the name"),
    "another_file": ("config = x\n", "line 1: unknown option 'config'"),
    "control": (b"db = a\x00b\n", "line 1: control characters are not allowed"),
    "latin_1": (b"db = caf\xe9\n", "line 1: not valid UTF-8"),
    "too_large": ("#" * 70000, "larger than 64 KiB"),
}


@cases(WRONG)
def test_files_that_are_wrong(case):
    text, complaint = case
    with tempfile.TemporaryDirectory() as folder:
        path = written(folder, text)
        arguments = ["serve", "--listen", "127.0.0.1:0", "--db", folder + "/banditd.db", "--config", path]
        status, out, err = run_to_end(*arguments)
        assert status == 2 and out == "" and complaint in err and path in err, (status, out, err)
        assert len(list(pathlib.Path(folder).iterdir())) == 1, "nothing is created"


def test_a_file_that_is_not_there():
    status, out, err = run_to_end("serve", "--config", "/nonexistent/banditd.conf")
    assert status == 2 and out == "" and "/nonexistent/banditd.conf" in err, (status, out, err)


def test_the_token_command_reads_the_file():
    with tempfile.TemporaryDirectory() as folder:
        path = written(folder, f"db = {folder}/elsewhere.db\n")
        status, out, err = run_to_end("token", "create", "--role", "admin", "--config", path)
        assert status == 0 and out.startswith("banditd_") and err == "", (status, out, err)
        assert pathlib.Path(folder, "elsewhere.db").exists()


def test_the_document_says_what_the_program_says():
    done = subprocess.run([ROOT / "docs" / "make-config", servers.BINARY], capture_output=True, text=True, check=True)
    assert done.stdout == (ROOT / "docs" / "config.md").read_text(), "run docs/make-config"


def test_the_documents_example_is_valid():
    text = (ROOT / "docs" / "config.md").read_text().split("```")[1].strip()
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "var").mkdir()
        path = written(folder, text.replace("/var/lib/banditd/", folder + "/var/"))
        status, out, err = run_to_end("token", "create", "--role", "admin", "--config", path)
        assert status == 0 and out.count("\n") == 1, (status, out, err)
        assert (pathlib.Path(folder) / "var" / "banditd.db").exists()


# ---- limits --------------------------------------------------------------------------------------------------


def test_the_number_of_studies():
    with Server("--max-studies", "2") as server:
        client = server.client()
        for name in ("a", "b"):
            client.create(definition(id=name))
        problem = refusal(client.post("/v1/studies", definition(id="c")), 422)
        assert "2 studies" in problem["detail"] and "--max-studies" in problem["detail"], problem
        client.delete("/v1/studies/a")
        client.create(definition(id="c"))


def test_the_number_of_studies_that_are_made_at_once():
    """Studies are created and imported at the same moment; exactly as many succeed as the limit permits."""
    with Server() as server:
        client = server.client()
        client.create(definition(id="source", points=grid(3)))
        export = client.get("/v1/studies/source/export").body.decode()

    def create(client, i):
        if i % 2:
            text = export.replace('"source"', f'"made-{i}"').replace('\\"source\\"', f'\\"made-{i}\\"')
            return client.post("/v1/studies", text, content_type="application/x-ndjson")
        return client.post("/v1/studies", definition(id=f"made-{i}", points=grid(3)))

    with Server("--max-studies", "5") as server, concurrent.futures.ThreadPoolExecutor(16) as pool:
        clients = [server.client() for _ in range(16)]
        for _ in range(4):
            answers = list(pool.map(create, clients, range(16)))
            made = [answer for answer in answers if answer.status == 201]
            listed = [study["id"] for study in clients[0].items("/v1/studies")]
            assert sorted(answer.json["id"] for answer in made) == listed and len(listed) == 5, (answers, listed)
            for answer in answers:
                assert answer.status == 201 or "already 5 studies" in refusal(answer, 422)["detail"], answer
            for study in listed:
                clients[0].delete(f"/v1/studies/{study}")


def test_candidates_times_dimension():
    uploaded = {"type": "candidates", "dimension": 2}
    with Server("--max-values", "200") as server:
        client = server.client()
        points = [[i / 7, i / 9] for i in range(101)]
        answer = client.post("/v1/studies", definition(points=points, id="inline"))
        problem = refusal(answer, 413)
        assert "200" in problem["detail"] and "--max-values" in problem["detail"], problem
        client.create(definition(points=points[:100], id="inline"))
        client.create({**definition(id="uploaded"), "domain": uploaded})
        rows = "".join(f"{x},{y}\n" for x, y in points)
        refusal(client.put("/v1/studies/uploaded/candidates", rows, content_type="text/csv"), 413)
        assert client.study("uploaded")["candidates"] == 0
        fitting = rows[: rows.rstrip().rindex("\n") + 1]
        assert client.put("/v1/studies/uploaded/candidates", fitting, content_type="text/csv").json["count"] == 100
        export = client.get("/v1/studies/inline/export").body
        client.delete("/v1/studies/inline")
        export = export.replace(b'"candidates":100', b'"candidates":101')
        problem = refusal(client.post("/v1/studies", export, content_type="application/x-ndjson"), 422)
        assert "--max-values" in problem["errors"][0]["detail"], problem
        kernel = {"kernel": {"type": "precomputed"}, "noise_std": 0.1}
        answer = client.post("/v1/studies", {**definition(), "domain": {"type": "precomputed", "size": 15}, "algorithm": kernel})
        refusal(answer, 413)


def test_the_results_of_a_tell():
    with Server("--max-results", "2") as server:
        client = server.client()
        study = client.create(definition())["id"]
        results = [{"trial": 1, "value": 1}] * 3
        problem = refusal(client.post(f"/v1/studies/{study}/tell", {"results": results}), 422, "/results")
        assert "2" in problem["errors"][0]["detail"] and "--max-results" in problem["errors"][0]["detail"], problem


def test_the_asks_that_wait():
    with Server("--max-waiting", "1") as server:
        client = server.client()
        study = client.create(definition())["id"]
        assert client.ask(study, wait_seconds=60)["trials"]  # the other asks wait for its result
        connections = []
        for _ in range(2):  # the second one to arrive is refused
            asking = server.client()._connection
            path = f"/v1/studies/{study}/ask"
            asking.request("POST", path, b'{"wait_seconds": 60}', {"Content-Type": "application/json"})
            connections.append(asking)
        (ready,) = select.select([connection.sock for connection in connections], [], [], 60)[0]
        refused, held = sorted(connections, key=lambda connection: connection.sock is not ready)
        response = refused.getresponse()
        assert response.status == 429 and int(response.headers["Retry-After"]) >= 1, response.headers
        assert b"--max-waiting" in response.read()
        client.tell(study, [{"trial": 1, "value": 1}])
        response = held.getresponse()
        assert response.status == 200 and b'"trials":[{' in response.read()
