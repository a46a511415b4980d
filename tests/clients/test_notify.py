"""banditctl notify: whom the server notifies."""

import json

URLS = ("https://a.example.org/hook?key=1", "https://b.example.org/")


def listed(site):
    return {item["url"]: item["events"] for item in json.loads(site.output("notify", "show", "--json"))["notify"]}


def test_receivers_are_set_from_a_file(site):
    path = site.folder / "notify.json"
    path.write_text(json.dumps({"notify": [{"url": url, "events": ["better"]} for url in URLS]}))
    made = [line.split() for line in site.output("notify", "set", path).splitlines()]
    assert [url for url, _ in made] == list(URLS) and all(secret.startswith("whsec_") for _, secret in made), made
    assert site.output("notify", "set", "-", stdin=path.read_text()) == "", "they have kept their secrets"
    shown = site.output("notify", "show").splitlines()
    assert shown == [f"0        0        0        0        better {url}" for url in URLS], shown
    path.write_text('{"notify": [{"url": "ftp://x", "events": ["better"]}]}')
    refused = site.run("notify", "set", path)
    assert refused.returncode == 1 and "/notify/0/url" in refused.stderr, refused
    assert site.run("notify", "set", site.folder / "absent").returncode == 1
    assert list(listed(site)) == list(URLS)
    assert site.output("notify", "set", "-", stdin='{"notify": []}') == "" == site.output("notify", "show")


def test_receivers_are_added_and_removed(site):
    a, b = URLS
    url, secret = site.output("notify", "add", a).split()
    assert url == a and secret.startswith("whsec_")
    assert json.loads(site.output("notify", "add", b, "stuck", "--json"))["notify"][1]["secret"].startswith("whsec_")
    assert listed(site) == {a: ["finished", "stuck", "failing"], b: ["stuck"]}
    assert site.output("notify", "add", a, "better", "finished") == "", "it has kept its secret"
    assert listed(site) == {b: ["stuck"], a: ["finished", "better"]}
    assert site.run("notify", "add", b, "sometimes").returncode == 1
    site.output("notify", "remove", a)
    assert listed(site) == {b: ["stuck"]}
    assert site.run("notify", "remove", a).returncode == 4
    site.output("notify", "remove", b)
    assert listed(site) == {}


def test_help_and_completion(site):
    assert {"show", "set", "add", "remove"} <= set(site.output("complete", "notify", "").split())
    assert "finished, better, stuck or failing" in " ".join(site.output("notify", "add", "--help").split())
