"""The dashboard's files as they are served: types, revalidation, and what the browser may do with them."""

import gzip
import pathlib
import re

from support import refusal

WEB = pathlib.Path(__file__).resolve().parents[2] / "server" / "web"
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".txt": "text/plain",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}


def test_every_file_is_served_as_it_is(server):
    client = server.client()
    files = [path for path in WEB.rglob("*") if path.is_file() and path.suffix != ".md"]
    assert WEB / "index.html" in files and WEB / "js" / "main.js" in files
    for path in files:
        address = "/" + str(path.relative_to(WEB))
        answer = client.get(address)
        assert answer.status == 200 and answer.body == path.read_bytes(), path
        assert answer.headers["Content-Type"].split(";")[0] == TYPES[path.suffix], answer.headers.items()
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        head = client.request("HEAD", address)
        assert head.status == 200 and head.body == b"" and head.headers["ETag"] == answer.headers["ETag"]
        assert int(head.headers["Content-Length"]) == len(answer.body)


def test_the_root_is_the_page(server):
    client = server.client()
    root, page = client.get("/"), client.get("/index.html")
    assert root.status == 200 and root.body == page.body and root.headers["ETag"] == page.headers["ETag"]


def test_nothing_but_this_server_may_be_loaded(server):
    client = server.client()
    for path in ("/", "/index.html", "/icon.svg", "/vendor/uPlot.LICENSE.txt", "/openapi.yaml"):  # what a browser shows as a document
        headers = client.get(path).headers
        assert headers["Content-Security-Policy"] and headers["Referrer-Policy"] == "no-referrer", path
    policy = client.get("/").headers["Content-Security-Policy"]
    directives = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert directives["default-src"] == "'self'", policy
    assert not any("unsafe" in sources or "*" in sources or "data:" in sources for sources in directives.values()), policy
    assert directives["frame-ancestors"] == "'none'", policy


def test_a_file_that_the_client_has_is_not_sent_again(server):
    client = server.client()
    for path in ("/", "/index.html", "/openapi.yaml"):
        first = client.get(path)
        etag = first.headers["ETag"]
        assert etag.startswith('"') and etag.endswith('"') and "no-store" not in first.headers["Cache-Control"], etag
        for list_ in (etag, f"W/{etag}", f'"other", {etag}', f'"other",W/{etag} , "more"', "*"):
            again = client.request("GET", path, headers={"If-None-Match": list_})
            assert again.status == 304 and again.body == b"" and again.headers["ETag"] == etag, (list_, again)
            assert again.headers["Content-Type"] is None
        for list_ in ('"other"', etag.strip('"'), etag[:-2] + '"', ""):
            again = client.request("GET", path, headers={"If-None-Match": list_})
            assert again.status == 200 and again.body == first.body, (list_, again)


def test_files_are_compressed_for_who_accepts_it(server):
    client = server.client()
    for path in ("/", "/style.css", "/js/main.js", "/js/router.js", "/vendor/uPlot.iife.min.js", "/openapi.yaml"):
        plain = client.get(path)
        small = client.request("GET", path, headers={"Accept-Encoding": "gzip"})
        assert plain.headers["Content-Encoding"] is None and small.headers["Content-Encoding"] == "gzip", (path, small)
        assert gzip.decompress(small.body) == plain.body and len(small.body) < 0.6 * len(plain.body), path
        assert small.headers["ETag"] != plain.headers["ETag"] and "Accept-Encoding" in small.headers["Vary"], small
        again = client.request("GET", path, headers={"Accept-Encoding": "gzip", "If-None-Match": small.headers["ETag"]})
        assert again.status == 304 and again.body == b"", again


def test_the_page_names_the_modules_of_its_first_view(server):
    """So that the browser need not read one module to find the next. Other views load theirs when they are opened."""
    page = server.client().get("/").body.decode()
    modules, unread = set(), ["main.js"]
    while unread:
        text = (WEB / "js" / unread.pop()).read_text()
        found = set(re.findall(r"^(?:import|export)\b[^;']*?\bfrom\s+'\./([^']+)'", text, re.MULTILINE)) - modules
        modules |= found
        unread += found
    assert set(re.findall(r'rel="modulepreload" href="js/([^"]+)"', page)) == modules and 10 < len(modules) < 40


def test_what_is_not_there(server):
    client = server.client()
    for path in ("/nothing.js", "/server/web/index.html", "/index.html/", "/js", "/js/", "/README.md", "/.", "/%2e%2e/index.html", "/" + "a" * 300):
        refusal(client.get(path), 404)
    refusal(client.request("PUT", "/index.html", {}), 405)
    refusal(client.request("POST", "/", {}), 405)
