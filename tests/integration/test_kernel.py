"""Candidates given by their kernel matrix alone, and uploads in NumPy's format."""

import math
import struct

from support import cases, definition, grid, refusal, target, work

POINTS = grid(6)


def gaussian(a, b):
    return math.exp(-sum((x - y) ** 2 for x, y in zip(a, b)) / (2 * 0.3**2))


MATRIX = [[gaussian(a, b) for b in POINTS] for a in POINTS]


def precomputed(client, study, size=len(POINTS)):
    body = definition(id=study, algorithm={"kernel": {"type": "precomputed"}})
    body["domain"] = {"type": "precomputed", "size": size}
    created = client.create(body)
    assert created["state"] == "awaiting_candidates", created
    return f"/v1/studies/{study}/kernel"


def csv(rows):
    return "".join(",".join(map(repr, row)) + "\n" for row in rows)


def npy(rows, dtype="<f8", order=False, version=1):
    """The bytes of a .npy file of these rows."""
    shape = f"({len(rows)}, {len(rows[0])})"
    header = f"{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    code = {"<f8": "d", "<f4": "f", "<i4": "i"}[dtype]
    data = b"".join(struct.pack(f"<{len(row)}{code}", *row) for row in rows)
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H", len(header)) + header + data


def work_by_number(client, study, trials):
    """As work, for trials without points."""
    chosen = []
    while len(chosen) < trials:
        asked = client.ask(study, 5)["trials"]
        assert asked
        chosen += [trial["candidate"] for trial in asked]
        results = [{"trial": t["id"], "value": target(POINTS[t["candidate"]])} for t in asked]
        client.tell(study, results)
    return chosen


def test_a_kernel_matrix_finds_what_its_points_find(server):
    """The matrix of the Gaussian kernel makes the choices that the kernel itself makes."""
    client = server.client()
    path = precomputed(client, "matrix")
    answer = client.put(path, csv(MATRIX), content_type="text/csv")
    assert answer.status == 200, answer
    client.create(definition(POINTS, id="points"))
    assert work_by_number(client, "matrix", 30) == work_by_number(client, "points", 30)


BAD_MATRICES = {
    "not_square": [row[:-1] for row in MATRIX],
    "too_few_rows": MATRIX[:-1],
    "not_symmetric": [MATRIX[0][:1] + [0.123] + MATRIX[0][2:]] + MATRIX[1:],
    "not_positive": [[-value for value in row] for row in MATRIX],
    "indefinite": [[0.0 if i == j else 1.0 for j in range(36)] for i in range(36)],
}


@cases(BAD_MATRICES)
def test_bad_matrix(server, case):
    client = server.client()
    body = definition(algorithm={"kernel": {"type": "precomputed"}})
    body["domain"] = {"type": "precomputed", "size": 36}
    study = client.create(body)["id"]
    refusal(client.put(f"/v1/studies/{study}/kernel", csv(case), content_type="text/csv"), 422)
    assert client.study(study)["state"] == "awaiting_candidates"
    refusal(client.post(f"/v1/studies/{study}/ask", {}), 409)


def uploading(client):
    body = {**definition(), "domain": {"type": "candidates", "dimension": 2, "scaling": "none"}}
    return client.create(body)["id"]


def put_npy(client, study, data):
    return client.put(f"/v1/studies/{study}/candidates", data, content_type="application/octet-stream")


def test_npy(server):
    client = server.client()
    inline = client.create(definition(POINTS))["id"]
    expected = work(client, inline, 20)
    study = uploading(client)
    answer = put_npy(client, study, npy(POINTS))
    assert answer.status == 200 and answer.json == {"count": 36, "dimension": 2}, answer
    assert work(client, study, 20) == expected
    single = uploading(client)
    assert put_npy(client, single, npy([[0.5, 0.25], [1.0, 2.0]], "<f4")).json == {"count": 2, "dimension": 2}
    trials = client.ask(single)["trials"]
    assert trials[0]["point"] in ([0.5, 0.25], [1.0, 2.0])


BAD_NPY = {
    "other_dimension": npy([[1.0, 2.0, 3.0]]),
    "not_finite": npy([[1.0, 2.0], [math.nan, 4.0]]),
    "cut_off": npy(POINTS)[:-3],
    "too_long": npy(POINTS) + b"\0" * 8,
    "no_magic": b"NUMPY" + npy(POINTS)[6:],
    "header_alone": npy(POINTS)[:40],
    "nothing": b"",
}


@cases(BAD_NPY)
def test_bad_npy(server, case):
    client = server.client()
    study = uploading(client)
    answer = put_npy(client, study, case)
    assert answer.status in (400, 422), answer
    refusal(answer, answer.status)
    assert client.study(study)["candidates"] == 0
