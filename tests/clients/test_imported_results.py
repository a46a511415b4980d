"""banditctl observations: results that were measured before."""

import json


def test_imported_results_are_amended(site):
    site.study()
    (site.folder / "earlier.csv").write_text("candidate,value\n1,9.9\n3,0.1\n")
    site.output("import", "s", "earlier.csv")
    site.output("observations", "amend", "s", 1, 0.99, "--reason", "a slip")
    assert site.server.client().read("s", "observations/1")["value"] == 0.99
    site.output("observations", "amend", "s", 2, "--state", "failed")
    assert site.server.client().read("s", "observations/2")["state"] == "failed"
    assert site.run("observations", "amend", "s", 2).returncode == 2


def test_imported_results_are_listed(site):
    domain = {"type": "candidates", "names": ["degrees", "minutes"], "points": [[180, 20], [190, 30]], "keys": ["CCO", "C C"]}
    site.server.client().create({"id": "s", "metric": {"name": "rise", "goal": "maximize"}, "domain": domain})
    assert site.output("observations", "list", "s") == ""
    (site.folder / "earlier.csv").write_text("key,rise\nC C,9.5\nCCO,0.25\n" + "CCO,0.5\n" * 1000)
    site.output("import", "s", "earlier.csv")
    site.output("observations", "amend", "s", 1, "--state", "failed")
    lines = site.output("observations", "list", "s").splitlines()
    assert len(lines) == 1002, "all pages"
    assert lines[0].split() == ["1", "failed", "-", "candidate=1", "key=C", "C", "degrees=190", "minutes=30"], lines[0]
    assert lines[1].split() == ["2", "completed", "0.25", "candidate=0", "key=CCO", "degrees=180", "minutes=20"], lines[1]
    pages = [json.loads(page) for page in site.output("observations", "list", "s", "--json").splitlines()]
    assert [len(page["items"]) for page in pages] == [1000, 2], pages
    assert site.run("observations", "list", "nothing").returncode == 4


def test_imported_points_of_a_space_are_listed(site):
    parameters = [{"name": "a", "type": "double", "min": 0, "max": 1}, {"name": "b", "type": "categorical", "values": ["u", "v"]}]
    site.server.client().create({"id": "s", "metric": {"name": "y", "goal": "maximize"}, "domain": {"type": "space", "parameters": parameters}})
    (site.folder / "earlier.csv").write_text("a,b,y\n0.5,v,2\n")
    site.output("import", "s", "earlier.csv")
    assert site.output("observations", "list", "s").split() == ["1", "completed", "2", "a=0.5", "b=v"]
