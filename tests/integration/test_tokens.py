"""Who may call what: every call of openapi.yaml, with every role, on the right and on other studies."""

import contextlib
import json
import pathlib
import re
import signal
import socket
import sqlite3
import stat
import subprocess
import tempfile
import time

import databases
import server as servers
from harness import sanitizers
from server import Server, run_to_end
from support import definition, eventually, refusal

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROLES = ["viewer", "worker", "editor", "admin"]  # each may do what those before it may
UNKNOWN = "banditd_0123456789abcdef_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"


def calls():
    """(method, path, role or None) of every call, as openapi.yaml has them."""
    path = method = None
    for line in (ROOT / "openapi.yaml").read_text().split("\ncomponents:\n")[0].splitlines():
        if found := re.match(r"  (/\S*):$", line):
            path = found[1]
        elif found := re.match(r"    (get|put|post|patch|delete):$", line):
            method = found[1].upper()
        elif found := re.match(r"      security: \[(?:\{token: \[(\w+)\]\})?\]$", line):
            yield method, path, found[1]


class Guarded(Server):
    """A server that wants tokens, with the study `mine` and the study `theirs`."""

    def __init__(self, *options, **more):
        super().__init__("--auth", "token", *options, **more)

    def __enter__(self):
        super().__enter__()
        self.token = self.command("create", "--role", "admin").strip()
        for study in ("mine", "theirs"):
            self.client().create(definition(id=study))
        return self

    def command(self, *arguments, status=0):
        """banditd token …, beside the running server. -> what it prints"""
        ended, out, err = run_to_end("token", *arguments, "--db", str(self.db))
        assert ended == status, (ended, out, err)
        return out if status == 0 else err

    def make(self, **fields):
        answer = self.client().post("/v1/tokens", fields)
        assert answer.status == 201, answer
        return answer.json


def fill(path, study):
    return path.replace("{study}", study).replace("{number}", "1").replace("{token}", "0123456789abcdef")


def call(client, method, path):
    body = {} if method in ("POST", "PUT", "PATCH") else None
    return client.request(method, path, body)


def without_names(answer):
    """An answer without what is different each time."""
    return (answer.status, answer.body, sorted(h for h in answer.headers.items() if h[0] not in ("X-Request-Id", "Date")))


def allowed(role, wanted):
    return wanted is None or ROLES.index(role) >= ROLES.index(wanted)


def test_every_call_with_every_role():
    with Guarded() as server:
        tokens = {role: server.make(role=role)["token"] for role in ROLES}
        bound = {role: server.make(role=role, study="mine")["token"] for role in ROLES[:-1]}
        listed = list(calls())
        assert len(listed) > 20 and {role for _, _, role in listed} == {None, *ROLES}, listed
        strangers = set()
        forbidden = set()
        for method, path, wanted in listed:
            if (method, path) == ("DELETE", "/v1/studies/{study}"):
                continue  # below: it would end the tokens
            for token in (None, UNKNOWN, "x", tokens["admin"][:-1]):
                answer = call(server.client(token=token), method, fill(path, "mine"))
                assert (answer.status == 401) == (wanted is not None), (method, path, token, answer)
                if answer.status == 401:
                    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="banditd"', answer.headers
                    strangers.add(str(without_names(answer)))
            for role, token in tokens.items():
                answer = call(server.client(token=token), method, fill(path, "mine"))
                assert answer.status != 401 and (answer.status == 403) != allowed(role, wanted), (method, path, role, answer)
                if answer.status == 403:
                    forbidden.add(str(without_names(answer)))
            for role, token in bound.items():
                for study in ("mine", "theirs", "nobody") if "{study}" in path else ("mine",):
                    answer = call(server.client(token=token), method, fill(path, study))
                    may = allowed(role, wanted)
                    if "{study}" in path:
                        may = may and study == "mine"
                    else:
                        may = wanted is None or (wanted == "viewer" and path != "/metrics")
                    assert answer.status != 401 and (answer.status == 403) != may, (method, path, role, study, answer)
                    if answer.status == 403:
                        forbidden.add(str(without_names(answer)))
        assert len(strangers) == 1 and len(forbidden) == 1, "they tell nothing apart: " + str((strangers, forbidden))


def test_deleting_a_study_with_every_role():
    with Guarded() as server:
        for role in ROLES:
            server.client().create(definition(id="doomed"))
            token = server.make(role=role, **({"study": "doomed"} if role != "admin" else {}))["token"]
            answer = server.client(token=token).delete("/v1/studies/doomed")
            assert answer.status == (204 if allowed(role, "editor") else 403), (role, answer)
            assert server.client(token=token).delete("/v1/studies/nobody").status == (404 if role == "admin" else 401 if answer.status == 204 else 403)
            server.client().delete("/v1/studies/doomed")


def test_the_list_shows_a_studys_token_that_study():
    with Guarded() as server:
        token = server.make(role="viewer", study="mine")["token"]
        client = server.client(token=token)
        for query, shown in (("", ["mine"]), ("?state=error", []), ("?label=a:b", []), ("?page_token=mine", []), ("?page_token=a", ["mine"])):
            items = client.get(f"/v1/studies{query}").json["items"]
            assert [study["id"] for study in items] == shown, (query, items)


def test_tokens_are_listed_without_their_text_and_revoked():
    with Guarded() as server:
        admin = server.client()
        made = server.make(role="worker", study="mine", description="the cluster", lifetime_seconds=3600)
        assert made["token"].startswith(f"banditd_{made['id']}_")
        listed = [token for token in admin.items("/v1/tokens", limit=1) if token["id"] == made["id"]]
        assert listed == [{key: value for key, value in made.items() if key != "token"}], listed
        worker = server.client(token=made["token"])
        assert worker.study("mine")["id"] == "mine"
        assert admin.delete("/v1/tokens/" + made["id"]).status == 204
        refusal(worker.get("/v1/studies/mine"), 401)
        assert made["id"] in refusal(admin.delete("/v1/tokens/" + made["id"]), 404)["detail"]
        assert made["id"] not in [token["id"] for token in admin.items("/v1/tokens")]


def test_a_caller_is_told_what_it_may_do():
    with Guarded() as server:
        made = server.make(role="worker", study="mine", description="the cluster", lifetime_seconds=3600)
        told = server.client(token=made["token"]).get("/v1/whoami")
        assert told.json == {"role": "worker", "study": "mine", "expires_at": made["expires_at"], "name": "the cluster"}, told
        plain = server.make(role="viewer")
        assert server.client(token=plain["token"]).get("/v1/whoami").json == {"role": "viewer", "study": None, "expires_at": None, "name": None}
        server.client().delete("/v1/tokens/" + made["id"])
        refusal(server.client(token=made["token"]).get("/v1/whoami"), 401)
    with Server() as server:
        assert server.client().get("/v1/whoami").json == {"role": "admin", "study": None, "expires_at": None, "name": None}


def test_no_token_is_in_the_database_or_the_log():
    with Guarded("--log-level", "debug") as server:
        made = server.make(role="worker")["token"]
        server.client(token=made).get("/v1/studies")
        keyed = server.client().post("/v1/tokens", {"role": "viewer"}, headers={"Idempotency-Key": "k"}).json["token"]
        log = server.stop()
        content = databases.content(server.db)
        for token in (made, server.token, keyed):
            secret = token.split("_", 2)[2]  # it may have an underscore of its own
            assert secret not in log and secret.encode() not in content, token
        assert made.split("_")[1].encode() in content, "its id is"


def test_an_expired_token_is_as_good_as_none():
    with Guarded() as server:
        client = server.client(token=server.make(role="viewer", lifetime_seconds=1)["token"])
        deadline = time.monotonic() + 30
        while (answer := client.get("/v1/studies")).status == 200 and time.monotonic() < deadline:
            time.sleep(0.05)
        refusal(answer, 401)


def test_a_studys_tokens_end_with_it():
    with Guarded() as server:
        token = server.make(role="editor", study="mine")["token"]
        assert server.client(token=token).delete("/v1/studies/mine").status == 204
        server.client().create(definition(id="mine"))
        refusal(server.client(token=token).get("/v1/studies/mine"), 401)


def test_tokens_outlive_a_restart():
    with Guarded() as server:
        token = server.make(role="viewer", study="mine")["token"]
        gone = server.make(role="viewer")
        server.client().delete("/v1/tokens/" + gone["id"])
        server.stop()
        server.start()
        assert server.client(token=token).study("mine")
        refusal(server.client(token=gone["token"]).get("/v1/studies"), 401)


def test_wrong_requests_for_tokens():
    with Guarded() as server:
        admin = server.client()
        for body, pointer in (
            ({}, "/role"),
            ({"role": "god"}, "/role"),
            ({"role": "worker", "study": "nobody"}, "/study"),
            ({"role": "admin", "study": "mine"}, "/study"),
            ({"role": "worker", "lifetime_seconds": 0}, "/lifetime_seconds"),
            ({"role": "worker", "lifetime": 5}, "/lifetime"),
            ({"role": "worker", "description": "x" * 201}, "/description"),
        ):
            refusal(admin.post("/v1/tokens", body), 422, pointer)
        assert len(admin.items("/v1/tokens")) == 1


def test_answers_are_kept_for_each_token():
    with Guarded() as server:
        clients = [server.client(token=server.make(role="worker")["token"]) for _ in range(2)]
        asked = [client.post("/v1/studies/mine/ask", {}, headers={"Idempotency-Key": "k"}).json for client in clients]
        assert asked[0] != asked[1], "one's answer is not the other's"
        again = [client.post("/v1/studies/mine/ask", {}, headers={"Idempotency-Key": "k"}).json for client in clients]
        assert again == asked


def test_a_tokens_request_is_answered_once():
    with Guarded() as server:
        admin = server.client()
        key = {"Idempotency-Key": "once"}
        made = admin.post("/v1/tokens", {"role": "viewer"}, headers=key).json
        again = admin.post("/v1/tokens", {"role": "viewer"}, headers=key)
        assert made["id"] in refusal(again, 409)["detail"]
        assert made["token"].encode() not in again.body
        assert len(admin.items("/v1/tokens")) == 2


def test_the_administrators_file():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "token"
        path.write_text("0123456789abcdefghijklmnopqrstuvwxyz\n")
        with Server("--auth", "token", "--admin-token-file", path) as server:
            server.token = path.read_text().strip()
            server.client().create(definition(id="mine"))
            assert server.client().get("/v1/tokens").json == {"items": []}, "it is not stored"
            refusal(server.client(token="0" * 36).get("/v1/studies"), 401)
        for text in ("short", "x" * 300, "with blanks " * 4, ""):
            path.write_text(text)
            arguments = ["serve", "--listen", "127.0.0.1:0", "--db", folder + "/x.db", "--admin-token-file", str(path)]
            status, out, err = run_to_end(*arguments)
            assert status == 1 and out == "" and str(path) in err, (text, status, out, err)
            assert "the line before this one gives the reason" in err and "limited" not in err, err


def test_the_administrators_file_is_read_again_on_sighup():
    """The new token replaces the old one. What cannot be used changes nothing."""
    old, new = "0123456789abcdefghijklmnopqrstuvwxyz", "zyxwvutsrqponmlkjihgfedcba9876543210"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "token"
        path.write_text(old)
        with Server("--auth", "token", "--admin-token-file", path) as server:
            reloaded(server, "admin_token_loaded", 1)
            assert with_tokens(server, old, new) == [200, 401], "the same file"
            path.write_text(new + "\n")
            assert with_tokens(server, old, new) == [200, 401], "not before it is told"
            reloaded(server, "admin_token_loaded", 2)
            assert with_tokens(server, old, new) == [401, 200]
            path.write_text("short")
            reloaded(server, "the old token stays valid", 1)
            path.unlink()
            reloaded(server, "the old token stays valid", 2)
            assert with_tokens(server, old, new) == [401, 200]


def with_tokens(server, *tokens):
    return [server.client(token=token).get("/v1/tokens").status for token in tokens]


def reloaded(server, said, times):
    """Sends SIGHUP, and waits until the log has said that so often."""
    server.process.send_signal(signal.SIGHUP)
    eventually(lambda: server.log().count(said) >= times, said)


def test_tokens_count_in_the_authorization_header_alone():
    with Guarded() as server:
        token = server.token
        for query in (f"access_token={token}", f"token={token}"):
            refusal(server.client(token=None).get("/v1/studies?" + query), 401)
        for header in (token, "Basic " + token, "Bearer", "Bearer ", f"Bearer {token}x", f"Bearer {token} {token}"):
            answer = server.client(token=None).request("GET", "/v1/studies", headers={"Authorization": header})
            refusal(answer, 401)
        answer = server.client(token=None).request("GET", "/v1/studies", headers={"Authorization": "bearer " + token})
        assert answer.status == 200, "the scheme's case does not matter"


def test_what_is_open_on_an_address_of_the_network():
    with tempfile.TemporaryDirectory() as folder:
        command = [servers.BINARY, "serve", "--listen", "0.0.0.0:0", "--db", folder + "/banditd.db"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=sanitizers.environment())
        port = int(process.stdout.readline().decode().rsplit(":", 1)[1])
        client = servers.Client("127.0.0.1", port)
        assert client.get("/healthz").status == 200
        refusal(client.get("/v1/studies"), 401)
        client.close()
        process.terminate()
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert b"no_tokens" in err, "it says how to make the first one"


# ---- banditd token -----------------------------------------------------------------------------------------


def test_the_command_with_and_without_a_server():
    with tempfile.TemporaryDirectory() as folder:
        db = folder + "/banditd.db"

        def command(*arguments):
            return run_to_end("token", *arguments, "--db", db)

        status, first, err = command("create", "--role", "admin")
        assert status == 0 and re.fullmatch(r"banditd_[0-9a-f]{16}_[\w-]{43}\n", first) and err == "", (first, err)
        with Server("--auth", "token", db=db) as server:
            server.token = first.strip()
            server.client().create(definition(id="mine"))
            status, second, err = command("create", "--role", "worker", "--study", "mine", "--expires", "90d", "--description", "a b")
            assert status == 0 and err == "", err
            assert server.client(token=second.strip()).ask("mine")["trials"]
            shown = [token for token in server.client().items("/v1/tokens") if token.get("study") == "mine"][0]
            lifetime = int(shown["expires_at"][:4]) * 12 + int(shown["expires_at"][5:7])
            lifetime -= int(shown["created_at"][:4]) * 12 + int(shown["created_at"][5:7])
            assert lifetime in (2, 3) and shown["description"] == "a b", shown
            status, _, err = command("create", "--role", "worker", "--study", "nobody")
            assert status == 1 and "study" in err, err
            status, out, _ = command("list")
            assert status == 0 and len(out.splitlines()) == 3 and shown["id"] in out, out
            assert command("revoke", shown["id"])[0] == 0
            refusal(server.client(token=second.strip()).get("/v1/studies"), 401)
            assert command("revoke", shown["id"])[0] == 1
        assert not pathlib.Path(db + ".sock").exists(), "it goes with the server"
        status, out, _ = command("list")
        assert status == 0 and len(out.splitlines()) == 2 and first.split("_")[1] in out, out
        assert command("revoke", first.split("_")[1])[0] == 0
        assert len(command("list")[1].splitlines()) == 1
        for wrong in ([], ["create"], ["create", "--role"], ["create", "--role", "god"], ["revoke"], ["revoke", "../x"],
                      ["create", "--role", "viewer", "--expires", "soon"], ["list", "all"], ["dance"]):
            status, out, err = run_to_end("token", *wrong, *([] if wrong[-1:] == ["--role"] else ["--db", db]))
            assert status in (1, 2) and out == "" and err, (wrong, status, out, err)


def test_only_create_makes_a_database():
    with tempfile.TemporaryDirectory() as folder:
        empty = pathlib.Path(folder, "empty.db")
        empty.touch()
        before = sorted(pathlib.Path(folder).iterdir())
        for name, complaint in (("none.db", "No such file"), ("empty.db", "is empty"), ("none/none.db", "No such file")):
            for command in (["list"], ["revoke", "0123456789abcdef"]):
                status, out, err = run_to_end("token", *command, "--db", f"{folder}/{name}")
                assert (status, out) == (1, "") and complaint in err and name in err, (name, command, status, out, err)
        assert sorted(pathlib.Path(folder).iterdir()) == before and empty.stat().st_size == 0
        for name in ("none.db", "empty.db"):
            assert run_to_end("token", "create", "--role", "admin", "--db", f"{folder}/{name}")[0] == 0
            assert len(run_to_end("token", "list", "--db", f"{folder}/{name}")[1].splitlines()) == 2


def unwritten(*arguments):
    """banditd token …, whose output goes to a full disk. -> what it says"""
    with open("/dev/full", "w") as full:
        command = [servers.BINARY, *databases.translated(("token", *arguments))]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=sanitizers.environment(), check=False)
    assert done.returncode == 1 and "standard output: No space left on device" in done.stderr, done
    return done.stderr


def test_a_token_that_cannot_be_written_is_revoked():
    with tempfile.TemporaryDirectory() as folder:
        db = folder + "/banditd.db"
        assert run_to_end("token", "create", "--role", "admin", "--db", db)[0] == 0
        for server in (contextlib.nullcontext(), Server("--auth", "token", db=db)):
            with server:
                said = unwritten("create", "--role", "editor", "--db", db)
                revoked = re.search(r"it was revoked \(([0-9a-f]{16})\)\n$", said)[1]
                listed = run_to_end("token", "list", "--db", db)[1]
                assert len(listed.splitlines()) == 2 and revoked not in listed, listed
                assert run_to_end("token", "revoke", revoked, "--db", db)[0] == 1
                unwritten("list", "--db", db)


def test_the_list_has_all_of_them():
    """More than one page, from the file and from a server."""
    with tempfile.TemporaryDirectory() as folder:
        db = folder + "/banditd.db"
        assert run_to_end("token", "create", "--role", "admin", "--db", db)[0] == 0
        with contextlib.closing(sqlite3.connect(db)) as connection:
            columns = "hash, role, study, description, created_at, expires_at"
            connection.execute(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2300) INSERT INTO tokens "
                f"(id, {columns}) SELECT printf('%016x', i), randomblob(32), 'viewer', study, '', created_at, 0 FROM n, tokens"
            )
            connection.commit()
        with_server = Server("--auth", "token", db=db)
        for server in (contextlib.nullcontext(), with_server):
            with server:
                status, out, err = run_to_end("token", "list", "--db", db)
                listed = [line.split()[0] for line in out.splitlines()[1:]]
                assert (status, err, len(listed), len(set(listed))) == (0, "", 2301, 2301), (status, err, len(listed))


def test_a_database_whose_name_leaves_no_room_for_the_socket():
    databases.sqlite_only("the socket is elsewhere")
    with tempfile.TemporaryDirectory() as folder:
        with Server("--auth", "token", db=pathlib.Path(folder) / ("x" * 120)) as server:
            refusal(server.client().get("/v1/studies"), 401)
            server.says("owner_socket_failed")
            status, out, err = run_to_end("token", "list", "--db", str(server.db))
            assert status == 1 and err, (status, out, err)


def test_the_owners_socket_is_the_owners():
    databases.sqlite_only("the socket is elsewhere")
    with Guarded() as server:
        path = pathlib.Path(str(server.db) + ".sock")
        mode = path.stat()
        assert stat.S_ISSOCK(mode.st_mode) and stat.S_IMODE(mode.st_mode) == 0o600, oct(mode.st_mode)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            connection.sendall(b"GET /v1/tokens HTTP/1.1\r\nHost: anything\r\nConnection: close\r\n\r\n")
            answer = b""
            while piece := connection.recv(65536):
                answer += piece
        assert answer.startswith(b"HTTP/1.1 200 "), answer
        assert json.loads(answer.split(b"\r\n\r\n", 1)[1])["items"]


def test_a_database_whose_path_is_long():
    with tempfile.TemporaryDirectory() as folder:
        deep = pathlib.Path(folder) / ("x" * 120)
        deep.mkdir()
        with Server("--auth", "token", db=deep / "banditd.db") as server:
            status, out, err = run_to_end("token", "create", "--role", "admin", "--db", str(server.db))
            assert status == 0, err
            assert server.client(token=out.strip()).get("/v1/tokens").status == 200
