"""Keys: users' own names of candidates, in uploads, in requests and in answers, and after restarts and copies."""

import csv
import io
import json
import struct

from server import Server, run_to_end
from support import cases, definition, refusal

POINTS = [[0.0], [0.25], [0.5], [1.0]]
KEYS = ["CCO", None, "C1=CC=CC=C1", "sample 7"]


def keyed(client, **fields):
    made = definition(points=POINTS, **fields)
    made["domain"]["keys"] = KEYS
    return client.create(made)["id"]


def awaiting(client):
    made = definition(points=POINTS)
    made["domain"] = {"type": "candidates", "dimension": 1}
    return client.create(made)["id"]


def keys_of(client, study):
    return [c.get("key") for c in client.items(f"/v1/studies/{study}/candidates")]


def npy(points):
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(points)}, 1), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + b"".join(
        struct.pack("<d", p[0]) for p in points
    )


UPLOADS = {
    "csv": ("text/csv", "key,x\nCCO,0\n,0.25\nC1=CC=CC=C1,0.5\nsample 7,1\n"),
    "json": ("application/json", json.dumps({"keys": KEYS, "points": POINTS})),
    "ndjson": (
        "application/x-ndjson",
        "".join(json.dumps({"point": p, "key": k}) + "\n" for p, k in zip(POINTS, KEYS, strict=True)),
    ),
}


@cases(UPLOADS)
def test_every_upload_brings_keys(server, case):
    client = server.client()
    study = awaiting(client)
    kind, body = case
    assert client.put(f"/v1/studies/{study}/candidates", body, content_type=kind).status == 200
    assert keys_of(client, study) == KEYS
    again = client.put(f"/v1/studies/{study}/candidates", body, content_type=kind)
    assert again.status == 200 and again.json == {"count": 4, "dimension": 1}, again
    added = client.post(
        f"/v1/studies/{study}/candidates", body.replace("CCO", "O").replace("C1=CC=CC=C1", "N").replace("sample 7", "P"),
        content_type=kind,
    )
    assert added.json == {"candidates": [4, 5, 6, 7]}, added
    assert keys_of(client, study) == [*KEYS, "O", None, "N", "P"]
    refusal(client.post(f"/v1/studies/{study}/candidates", body, content_type=kind), 422, "/keys/0")
    assert len(keys_of(client, study)) == 8, "a refused addition adds nothing"


def test_the_first_file_again_takes_no_keys_of_later_candidates(server):
    client = server.client()
    study = awaiting(client)
    kind, body = UPLOADS["csv"]
    assert client.put(f"/v1/studies/{study}/candidates", body, content_type=kind).status == 200
    later = client.post(f"/v1/studies/{study}/candidates", "key,x\nN,2\n", content_type=kind)
    assert later.status in (200, 201), later
    refusal(client.put(f"/v1/studies/{study}/candidates", body, content_type=kind), 409)
    assert keys_of(client, study) == [*KEYS, "N"]


def test_numpy_files_get_keys_afterwards(server):
    client = server.client()
    study, path = awaiting(client), "/v1/studies/{}/candidates"
    keys = path.format(study) + "/keys"
    refusal(client.put(keys, "a\n", content_type="text/plain"), 409)
    uploaded = client.put(path.format(study), npy(POINTS), content_type="application/octet-stream")
    assert uploaded.status == 200, uploaded
    for _ in range(2):
        answer = client.put(keys, "CCO\n\nC1=CC=CC=C1\nsample 7\n", content_type="text/plain")
        assert answer.status == 200 and answer.json == {"keys": 3}, answer
        assert keys_of(client, study) == KEYS
    assert client.put(path.format(study), npy(POINTS), content_type="application/octet-stream").status == 200
    assert keys_of(client, study) == KEYS, "the same features again do not take the keys away"
    refusal(client.put(keys, "a\nb\n", content_type="text/plain"), 422, "/keys")
    refusal(client.put(keys, "a\nb\nc\na\n", content_type="text/plain"), 422, "")
    refusal(client.put(keys, {"keys": ["a", "b", "c", "a"]}), 422, "/keys/3")
    refusal(client.put(keys, "a\n", content_type="text/csv"), 415)
    assert client.put(keys, {"keys": ["a", None, None, "b"]}).json == {"keys": 2}
    assert keys_of(client, study) == ["a", None, None, "b"]


def test_a_space_has_no_keys(server):
    client = server.client()
    made = definition(points=POINTS)
    made["domain"] = {"type": "space", "parameters": [{"name": "x", "type": "double", "min": 0, "max": 1}]}
    study = client.create(made)["id"]
    refusal(client.put(f"/v1/studies/{study}/candidates/keys", "a\n", content_type="text/plain"), 409)
    made["domain"]["keys"] = ["a"]
    refusal(client.post("/v1/studies", made), 422, "/domain/keys")


def test_a_key_is_accepted_and_shown_where_a_number_is(server):
    client = server.client()
    study = keyed(client)
    base = f"/v1/studies/{study}"
    trial = client.post(f"{base}/trials", {"key": "sample 7"}).json
    assert (trial["candidate"], trial["key"]) == (3, "sample 7"), trial
    refusal(client.post(f"{base}/trials", {"key": "sample 8"}), 422, "/key")
    (asked,) = client.ask(study, worker="w")["trials"]
    assert asked["key"] == "sample 7", asked
    client.tell(study, [{"trial": asked["id"], "value": 2.0}])
    rows = [{"key": "CCO", "value": 0.5}, {"key": "C1=CC=CC=C1", "value": 1.5, "repeats": 2}]
    assert client.post(f"{base}/observations", {"observations": rows}).json["accepted"] == 2
    table = client.post(f"{base}/observations", "key,yield,x\nCCO,0.5,\nsample 7,1.9,7\n", content_type="text/csv")
    assert table.status == 422, "the objective has another name"
    table = client.post(f"{base}/observations", "key,value,x0\nCCO,0.5,\nsample 7,1.9,7\n", content_type="text/csv")
    assert table.json["accepted"] == 2, table
    assert [o["key"] for o in client.items(f"{base}/observations")] == ["CCO", "C1=CC=CC=C1", "CCO", "sample 7"]
    assert client.get(f"{base}/observations/2").json["key"] == "C1=CC=CC=C1"
    amended = client.post(f"{base}/observations/2/amend", {"value": 1.25}).json
    assert amended["key"] == "C1=CC=CC=C1", amended
    predicted = client.post(f"{base}/predict", {"keys": ["CCO", "sample 7"]}).json
    assert predicted == client.post(f"{base}/predict", {"candidates": [0, 3]}).json
    refusal(client.post(f"{base}/predict", {"keys": ["CCO", "x"]}), 422, "/keys/1")
    best = client.read(study, "best")
    assert best["observed"]["key"] == "sample 7" and best["recommended"]["key"] == "sample 7", best
    assert client.study(study)["best"]["key"] == "sample 7"
    assert [t["key"] for t in client.items(f"{base}/trials")] == ["sample 7"]
    assert client.get(f"{base}/trials/1").json["key"] == "sample 7"
    assert client.post(f"{base}/candidates/retire", {"keys": ["CCO"]}).json["retired"] == 1
    (found,) = client.read(study, "candidates?key=CCO")["items"]
    assert found["candidate"] == 0 and found["retired"], found
    assert client.get(f"{base}/candidates/0").json["key"] == "CCO"
    assert client.read(study, "candidates?key=nothing") == {"items": []}
    refusal(client.get(f"{base}/candidates?key=CCO&sort=mean"), 422)
    assert client.post(f"{base}/candidates/restore", {"keys": ["CCO"]}).json == {"restored": 1}
    refusal(client.post(f"{base}/candidates/restore", {"keys": ["x"]}), 422, "/keys/0")


def test_missing_keys_of_an_import_are_listed(server):
    client = server.client()
    study = keyed(client)
    path = f"/v1/studies/{study}/observations"
    rows = [{"key": k, "value": 1.0} for k in ("CCO", "no", "sample 7", "neither")]
    problem = refusal(client.post(path, {"observations": rows}), 422, "/observations/1/key")
    assert [e["pointer"] for e in problem["errors"]] == ["/observations/1/key", "/observations/3/key"], problem
    problem = refusal(client.post(path, "key,value\nCCO,1\nno,2\n", content_type="text/csv"), 422, "")
    assert "line 3, row 2" in problem["errors"][0]["detail"], problem
    assert client.read(study, "observations") == {"items": []}, "nothing is imported"


def test_the_exported_table_has_keys_and_can_be_imported(server):
    client = server.client()
    study, plain = keyed(client), client.create(definition(points=POINTS))["id"]
    client.post(f"/v1/studies/{study}/observations", {"observations": [{"key": "CCO", "value": 1}]})
    text = client.get(f"/v1/studies/{study}/export?format=csv").body.decode()
    (row,) = csv.DictReader(io.StringIO(text))
    assert (row["candidate"], row["key"], row["x0"]) == ("0", "CCO", "0.0"), row
    assert client.post(f"/v1/studies/{study}/observations", text, content_type="text/csv").json["accepted"] == 1
    assert "key" not in client.get(f"/v1/studies/{plain}/export?format=csv").body.decode().split("\n")[0].split(",")


def test_keys_survive_a_kill_a_copy_and_a_check():
    with Server() as server:
        client = server.client()
        study = keyed(client)
        many = awaiting(client)
        points = [[float(i)] for i in range(1200)]  # more than fit one entry of the log
        body = "".join(json.dumps({"point": p, "key": f"k{i}"}) + "\n" for i, p in enumerate(points))
        put = client.put(f"/v1/studies/{many}/candidates", body, content_type="application/x-ndjson")
        assert put.status == 200, put
        client.post(f"/v1/studies/{study}/candidates", "x,key\n2,O\n", content_type="text/csv")
        server.kill()
        server.start()
        client = server.client()
        assert keys_of(client, study) == [*KEYS, "O"]
        assert keys_of(client, many) == [f"k{i}" for i in range(1200)]
        for name in (study, many):
            text = client.get(f"/v1/studies/{name}/export?format=ndjson").body
            made = client.post(f"/v1/studies?id={name}-2", text, content_type="application/x-ndjson")
            assert made.status == 201, made
            assert keys_of(client, f"{name}-2") == keys_of(client, name)
            assert client.post(f"/v1/studies/{name}/fork", {"id": f"{name}-3"}).status == 201
            assert keys_of(client, f"{name}-3") == keys_of(client, name)
        server.stop()
        assert run_to_end("check", "--quiet", "--db", str(server.db))[0] == 0


def test_a_file_with_repeated_keys_is_refused(server):
    client = server.client()
    text = client.get(f"/v1/studies/{keyed(client)}/export?format=ndjson").body.decode()
    for old, new in (("C1=CC=CC=C1", "CCO"), ("sample 7", " "), ('"first":0', '"first":1')):
        answer = client.post("/v1/studies?id=copy", text.replace(old, new), content_type="application/x-ndjson")
        refusal(answer, 422)


def test_a_key_in_the_path_is_answered_with_the_way(server):
    client = server.client()
    study = keyed(client)
    problem = client.get(f"/v1/studies/{study}/candidates/CCO")
    assert problem.status == 404 and f"GET /v1/studies/{study}/candidates?key=KEY" in problem.json["detail"], problem
    assert client.get(f"/v1/studies/{study}/candidates?key=CCO").json["items"][0]["candidate"] == 0
    for path in (f"/v1/studies/{study}/nowhere/CCO", f"/v1/studies/{study}/candidates/1/CCO"):
        assert "?key=" not in client.get(path).json["detail"]
