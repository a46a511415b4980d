"""Candidates by CSV and JSON: what is taken, and what is refused with row and column."""

import json

from server import Server, run_to_end
from support import begun, cases, definition, grid, refusal, work

POINTS = grid(12)


def uploading(client, study, dimension=2, **fields):
    """Creates a study that waits for candidates."""
    body = definition(id=study, **fields)
    body["domain"] = {"type": "candidates", "dimension": dimension, "scaling": "none"}
    created = client.create(body)
    assert created["state"] == "awaiting_candidates", created
    return f"/v1/studies/{study}/candidates"


def csv(points, header="x,y\n", end="\n"):
    return header + "".join(",".join(map(repr, point)) + end for point in points)


def put_csv(client, path, text):
    return client.put(path, text, content_type="text/csv")


def in_pieces(data, size=1000):
    for start in range(0, len(data), size):
        yield data[start : start + size].encode()


def test_all_ways_make_the_same_study(server):
    client = server.client()
    client.create(definition(id="inline"))
    uploads = {
        "csv-header": ("text/csv", csv(POINTS)),
        "csv-bare": ("text/csv", csv(POINTS, header="")),
        "csv-crlf": ("text/csv; charset=utf-8", csv(POINTS, header="x,y\r\n", end="\r\n")),
        "csv-pieces": ("text/csv", in_pieces(csv(POINTS))),
        "json": ("application/json", json.dumps({"points": POINTS})),
        "json-pieces": ("application/json", in_pieces(json.dumps({"points": POINTS}))),
    }
    for name, (content_type, body) in uploads.items():
        answer = client.put(uploading(client, name), body, content_type=content_type)
        assert answer.status == 200, (name, answer)
        assert answer.json == {"count": 144, "dimension": 2}, (name, answer)
        assert client.study(name)["state"] == "active"
    expected = work(client, "inline", 30)
    for name in uploads:
        assert work(client, name, 30) == expected, name


def test_points_come_back_to_the_bit(server):
    client = server.client()
    points = [[0.1, 1 / 3], [1e-300, 123456789.123456789], [-0.0, 5e-324], [-2.5e-8, 1e22]]
    body = definition(points, id="bits")
    client.create(body)
    seen = {}
    for _ in range(40):
        for trial in client.ask("bits", 10)["trials"]:
            seen[trial["candidate"]] = trial["point"]
            client.tell("bits", [{"trial": trial["id"], "value": 0.5}])
    assert seen and all(list(map(repr, point)) == list(map(repr, points[i])) for i, point in seen.items()), seen


def test_large_upload(server):
    """30 000 rows of 8 numbers, about 4.6 MB: more than a request may be, as it is streamed."""
    client = server.client()
    body = definition(id="large")
    body["domain"] = {"type": "candidates", "dimension": 8}
    client.create(body)
    rows = ((i * 7919 % 30011 / 30011 + k / 8 for k in range(8)) for i in range(30000))
    text = "".join(",".join(map(repr, row)) + "\n" for row in rows)
    assert len(text) > 4 * 2**20
    answer = put_csv(client, "/v1/studies/large/candidates", text)
    assert answer.status == 200 and answer.json == {"count": 30000, "dimension": 8}, answer


def test_an_upload_is_for_the_study_that_it_began_with(server):
    client, other = server.client(), server.client()
    path = uploading(client, "anew", dimension=3)

    def slowly():
        yield from begun()
        other.delete("/v1/studies/anew")
        uploading(other, "anew")
        yield b'{"points": [[1, 2, 3], [4, 5, 6], [7, 8, 9]]}'

    answer = client.put(path, slowly(), content_type="application/json")
    assert answer.status == 409 and "deleted" in answer.json["detail"], answer
    assert client.study("anew")["state"] == "awaiting_candidates"
    assert client.get(path).json["items"] == []
    assert put_csv(client, path, csv(POINTS)).status == 200
    assert len(client.get(path).json["items"]) == 100


def test_replaced_until_the_first_ask(server):
    client = server.client()
    path = uploading(client, "replaced")
    assert put_csv(client, path, csv(POINTS[:5])).status == 200
    assert put_csv(client, path, csv(POINTS)).json["count"] == 144
    assert work(client, "replaced", 3)
    answer = put_csv(client, path, csv(POINTS, header=""))
    assert answer.status == 200 and answer.json["count"] == 144, "the same content again is no change"
    refusal(put_csv(client, path, csv(POINTS[:5])), 409)
    refusal(client.put(path, {"points": POINTS[:5]}), 409)
    assert client.study("replaced")["candidates"] == 144
    assert work(client, "replaced", 3)


@cases({
    "results": ("observations", {"observations": [{"candidate": 30, "value": 0.5}]}),
    "trials": ("trials", {"candidate": 30}),
})
def test_not_replaced_when_something_speaks_of_them(server, case):
    """Before the first ask, too: what was said of candidate 30 would be of another one, or of none."""
    client = server.client()
    call, body = case
    path = uploading(client, f"spoken-{call}")
    assert put_csv(client, path, csv(POINTS)).status == 200
    assert client.post(f"/v1/studies/spoken-{call}/{call}", body).status in (200, 201)
    refusal(put_csv(client, path, csv(POINTS[:5])), 409)
    assert put_csv(client, path, csv(POINTS)).status == 200, "the same content is no change"
    assert client.ask(f"spoken-{call}", 2)["trials"]


def test_an_ask_without_candidates_is_a_conflict(server):
    client = server.client()
    uploading(client, "empty")
    refusal(client.post("/v1/studies/empty/ask", {}), 409)
    assert client.study("empty")["state"] == "awaiting_candidates"


BAD_CSV = {
    # name: (text, what the answer must name)
    "word_in_a_row": (csv(POINTS[:3]) + "0.5,blue\n", ["row 4", "column 2", "blue"]),
    "empty_cell": ("x,y\n0.5,\n", ["row 1", "column 2"]),
    "nan": ("0.5,1\nnan,2\n", ["row 2", "column 1"]),
    "infinity": ("0.5,1\n1,inf\n", ["row 2", "column 2"]),
    "too_large": ("0.5,1\n1,1e999\n", ["row 2", "column 2"]),
    "hexadecimal": ("0.5,1\n1,0x10\n", ["row 2", "column 2"]),
    "two_numbers_in_a_cell": ("0.5,1\n1,2 3\n", ["row 2", "column 2"]),
    "too_few_columns": ("0.5,1\n1\n", ["row 2"]),
    "too_many_columns": ("0.5,1\n1,2,3\n", ["row 2"]),
    "other_dimension": ("0.5,1,2\n", ["row 1"]),
    "nothing": ("", []),
    "header_alone": ("x,y\n", []),
    "second_header": ("x,y\n0.5,1\nx,y\n", ["row 2", "column 1"]),
    "not_utf8": (b"0.5,1\n\xff\xfe,2\n", ["row 2", "column 1"]),
}


def named(client):
    """Creates a study with names that waits for candidates; its id."""
    domain = {"type": "candidates", "dimension": 2, "names": ["degrees", "minutes"]}
    return client.create({**definition(), "domain": domain})["id"]


def test_a_header_says_which_column_is_which(server):
    client = server.client()
    for header, row in (
        ("minutes, degrees", "20,180"),
        ('"degrees",minutes', "180,20"),
        (None, "180,20"),
    ):
        path = f"/v1/studies/{named(client)}/candidates"
        lines = [row, ",".join(reversed(row.split(",")))]
        text = "\n".join(([header] if header else []) + lines)
        assert put_csv(client, path, text).json == {"count": 2, "dimension": 2}
        first, second = client.get(path).json["items"]
        assert (first["point"], second["point"]) == ([180, 20], [20, 180]), header


def test_columns_are_skipped_when_asked(server):
    client = server.client()
    with_names, without = named(client), client.create({**definition(), "domain": {"type": "candidates", "dimension": 2}})["id"]
    for study in (with_names, without):
        path = f"/v1/studies/{study}/candidates"
        table = b'day,degrees,operator,minutes\n2026-01-01,180,"Ada, Bob",20\n,190,,30\n'
        assert put_csv(client, path + "?ignore=day,operator", table.decode()).json == {"count": 2, "dimension": 2}
        assert [item["point"] for item in client.get(path).json["items"]] == [[180, 20], [190, 30]]
        assert client.study(study)["domain"]["names"] == ["degrees", "minutes"]
        more = client.request("POST", path + "?ignore=day", body=b"minutes,day,degrees\n5,x,200\n", headers={"Content-Type": "text/csv"})
        assert more.json == {"candidates": [2]}, more
        assert client.get(path + "/2").json["point"] == [200, 5]
        refusal(client.request("POST", path, body=b"minutes,day,degrees\n5,x,200\n", headers={"Content-Type": "text/csv"}), 422)


BAD_HEADERS = {
    "unknown": ("degrees,seconds\n1,2\n", "not a feature of the study: \"seconds\""),
    "twice": ("degrees,degrees\n1,2\n", "two columns \"degrees\""),
    "too_few": ("minutes\n1\n", "no column \"degrees\""),
    "too_many": ("degrees,minutes,operator\n1,2,3\n", "not a feature of the study: \"operator\""),
    "semicolons": ("degrees;minutes\n1;2\n", "separated by commas"),
    "semicolons_below": ("degrees,minutes\n1;2\n", "separated by commas"),
}


@cases(BAD_HEADERS)
def test_a_header_of_other_names(server, case):
    text, said = case
    client = server.client()
    study = named(client)
    problem = refusal(put_csv(client, f"/v1/studies/{study}/candidates", text), 422)
    assert said in problem["errors"][0]["detail"], problem
    assert client.study(study)["candidates"] == 0


@cases(BAD_CSV)
def test_bad_csv(server, case):
    text, named = case
    client = server.client()
    study = client.create({**definition(), "domain": {"type": "candidates", "dimension": 2}})["id"]
    path = f"/v1/studies/{study}/candidates"
    problem = refusal(put_csv(client, path, text), 422)
    said = json.dumps(problem)
    assert all(word in said for word in named), (named, said)
    # Nothing is left half uploaded, and the study takes what is right.
    after = client.study(study)
    assert (after["state"], after["candidates"]) == ("awaiting_candidates", 0), after
    assert put_csv(client, path, csv(POINTS)).status == 200
    # A bad file does not take away the good one before it either.
    refusal(put_csv(client, path, text), 422)
    assert client.study(study)["candidates"] == 144
    assert work(client, study, 2)


BAD_JSON = {
    "malformed": ('{"points": [[1, 2]', 400, None),
    "nan": ('{"points": [[1, NaN]]}', 400, None),
    "too_large": ('{"points": [[1, 1e999]]}', 400, None),
    "duplicate_key": ('{"points": [[1, 2]], "points": [[1, 2]]}', 400, None),
    "missing_points": ("{}", 422, "/points"),
    "unknown_field": ('{"points": [[1, 2]], "colour": "blue"}', 422, "/colour"),
    "word": ('{"points": [[1, 2], [3, "4"]]}', 422, "/points/1/1"),
    "boolean": ('{"points": [[1, true]]}', 422, "/points/0/1"),
    "ragged": ('{"points": [[1, 2], [3]]}', 422, "/points/1"),
    "other_dimension": ('{"points": [[1, 2, 3]]}', 422, "/points/0"),
    "empty": ('{"points": []}', 422, "/points"),
    "no_list": ('{"points": 5}', 422, "/points"),
    "no_object": ("[[1, 2]]", 422, ""),
}


@cases(BAD_JSON)
def test_bad_json(server, case):
    text, status, pointer = case
    client = server.client()
    study = client.create({**definition(), "domain": {"type": "candidates", "dimension": 2}})["id"]
    path = f"/v1/studies/{study}/candidates"
    refusal(client.put(path, text, content_type="application/json"), status, pointer)
    after = client.study(study)
    assert (after["state"], after["candidates"]) == ("awaiting_candidates", 0), after


def test_unknown_content_type(server):
    client = server.client()
    path = uploading(client, "typed")
    refusal(client.put(path, csv(POINTS), content_type="application/xml"), 415)
    refusal(client.put(path, csv(POINTS)), 415)
    assert client.study("typed")["candidates"] == 0


def test_unknown_study(server):
    refusal(put_csv(server.client(), "/v1/studies/nobody/candidates", csv(POINTS)), 404)


UNUSABLE = {
    "too wide": ("standardize", [[1e308, 0], [-1e308, 1]], "column 0 cannot be scaled: its range is too large"),
    "too narrow": ("standardize", [[0, 0], [1, 5e-324]], "column 1 cannot be scaled: its range is too small"),
    "too wide for unit": ("unit", [[0, 1e308], [1, -1e308]], "column 1 cannot be scaled: its range is too large"),
    "too narrow for unit": ("unit", [[0, 0], [5e-324, 1]], "column 0 cannot be scaled: its range is too small"),
    "too large without scaling": ("none", [[0, 1e200], [1, 0]], "column 1 has a value beyond 1e+50"),
}


@cases(UNUSABLE)
def test_candidates_that_no_model_can_be_made_of(server, case):
    """They are refused in the upload. Before, the first ask stopped the study for good."""
    scaling, points, detail = case
    client = server.client()
    body = definition(points=points)
    body["domain"]["scaling"] = scaling
    problem = refusal(client.post("/v1/studies", body), 422, "/domain/points")
    assert detail in problem["errors"][0]["detail"], problem
    body["domain"] = {"type": "candidates", "dimension": 2, "scaling": scaling}
    path = f"/v1/studies/{client.create(body)['id']}"
    rows = "".join(f"{x!r},{y!r}\n" for x, y in points)
    problem = refusal(client.put(f"{path}/candidates", rows, content_type="text/csv"), 422)
    assert detail in str(problem["errors"]), problem
    rows = "0,0\n1,1\n0,1\n"
    assert client.put(f"{path}/candidates", rows, content_type="text/csv").status == 200
    problem = refusal(client.post(f"{path}/candidates", {"points": [[1e200, 0]]}), 422)
    assert "too far" in str(problem["errors"]), problem
    assert client.post(f"{path}/ask", {}).json["trials"], "and the study lives"


def test_a_header_names_the_features(server):
    client = server.client()
    body = {"metric": {"name": "y", "goal": "maximize"}, "domain": {"type": "candidates", "dimension": 2}, "seed": 1}
    study = client.create({**body, "id": "named-by-a-header"})["id"]
    path = f"/v1/studies/{study}/candidates"
    assert client.put(path, " degrees ,minutes\n180,20\n190,30\n", content_type="text/csv").status == 200
    assert client.study(study)["domain"]["names"] == ["degrees", "minutes"]
    assert client.put(path, "minutes,degrees\n20,180\n35,190\n", content_type="text/csv").status == 200
    assert [c["point"] for c in client.items(path)] == [[180.0, 20.0], [190.0, 35.0]]
    client.tell(study, [{"trial": client.ask(study)["trials"][0]["id"], "value": 1}])
    lines = client.get(f"/v1/studies/{study}/export").body
    answer = client.post("/v1/studies?id=the-copy", lines, content_type="application/x-ndjson")
    assert answer.status == 201 and answer.json["id"] == "the-copy", answer
    assert client.study("the-copy")["domain"]["names"] == ["degrees", "minutes"]
    refusal(client.post("/v1/studies?id=The+Copy", lines, content_type="application/x-ndjson"), 422)
    refusal(client.post("/v1/studies?id=the-copy", lines, content_type="application/x-ndjson"), 409)


@cases({"at_once": False, "after_a_kill": True})
def test_another_header_corrects_names_until_the_first_ask(case):
    def connect():
        if case:
            server.kill()
            server.start()
        return server.client()

    with Server() as server:
        client = server.client()
        body = {"metric": {"name": "y", "goal": "maximize"}, "domain": {"type": "candidates", "dimension": 2}, "seed": 1}
        path = f"/v1/studies/{client.create({**body, 'id': 'named'})['id']}/candidates"

        def check(text, names, points):
            assert put_csv(client, path, text).status == 200
            assert client.study("named")["domain"].get("names") == names
            assert [c["point"] for c in client.items(path)] == points

        check("height,width\n1,2\n3,4", ["height", "width"], [[1, 2], [3, 4]])
        client = connect()
        check("weight,length\n1,2\n3,4", ["weight", "length"], [[1, 2], [3, 4]])
        client = connect()
        check("length,weight\n1,2\n3,4", ["weight", "length"], [[2, 1], [4, 3]])
        check("depth,key,length\n1,a,2\n3,b,5", ["depth", "length"], [[1, 2], [3, 5]])
        client = connect()
        check("key,depth,breadth\na,1,2\nc,3,5", ["depth", "breadth"], [[1, 2], [3, 5]])
        assert [c["key"] for c in client.items(path)] == ["a", "c"]
        check("1,2\n3,4", ["depth", "breadth"], [[1, 2], [3, 4]])
        check("a,a\n1,2\n3,4", None, [[1, 2], [3, 4]])  # these cannot be names
        refusal(put_csv(client, path, "one\n1\n2"), 422)
        check("depth,breadth\n1,2\n5,7", ["depth", "breadth"], [[1, 2], [5, 7]])
        client.tell("named", [{"trial": client.ask("named")["trials"][0]["id"], "value": 1}])
        client = connect()
        for late in ("wide,deep\n1,2\n5,7", "key,wide,deep\na,1,2\nb,5,7", "wide,deep\n5,6\n7,8"):
            refusal(put_csv(client, path, late), 409)
        check("depth,breadth\n1,2\n5,7", ["depth", "breadth"], [[1, 2], [5, 7]])
        lines = client.get("/v1/studies/named/export").body
        answer = client.post("/v1/studies?id=copy", lines, content_type="application/x-ndjson")
        assert answer.status == 201, answer
        assert client.study("copy")["domain"]["names"] == ["depth", "breadth"]
        server.stop()
        status, out, err = run_to_end("check", "--quiet", "--db", str(server.db))
        assert (status, out) == (0, ""), (status, out, err)


@cases({"twice": "a,a", "empty": "a,", "numbers": "1,2"})
def test_what_cannot_be_names_is_left_out(server, case):
    client = server.client()
    body = {"metric": {"name": "y", "goal": "maximize"}, "domain": {"type": "candidates", "dimension": 2}}
    study = client.create(body)["id"]
    answer = client.put(f"/v1/studies/{study}/candidates", f"{case}\n3,4\n", content_type="text/csv")
    assert answer.status == 200, answer
    assert "names" not in client.study(study)["domain"]
