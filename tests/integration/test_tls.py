"""TLS: which versions, what kind of certificates, and new ones without a stop. Asked by curl and openssl."""

import contextlib
import http.client
import json
import pathlib
import signal
import socket
import ssl
import subprocess
import tempfile

from server import Server, run_to_end
from support import definition, eventually
from raw_requests import is_refused, received


def openssl(*arguments, text=""):
    return subprocess.run(["openssl", *arguments], input=text, capture_output=True, text=True, timeout=60, check=False)


def make_certificate(folder, name, kind=("ec", "-pkeyopt", "ec_paramgen_curve:P-256")):
    """A certificate for localhost, signed by itself. -> the paths of it and its key"""
    certificate, key = pathlib.Path(folder) / "tls.crt", pathlib.Path(folder) / "tls.key"
    names = f"subjectAltName=DNS:localhost,DNS:{name},IP:127.0.0.1"
    made = openssl("req", "-x509", "-newkey", *kind, "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext", names,
                   "-keyout", str(key), "-out", str(certificate))
    assert made.returncode == 0, made.stderr
    return str(certificate), str(key)


@contextlib.contextmanager
def secure_server(*options, kind=("ec", "-pkeyopt", "ec_paramgen_curve:P-256")):
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = make_certificate(folder, "first", kind)
        with Server("--tls-cert", certificate, "--tls-key", key, *options) as server:
            server.certificate = certificate
            yield server


def curl(server, *arguments, path="/v1/studies"):
    url = f"https://localhost:{server.port}{path}"
    command = ["curl", "-sS", "--max-time", "30", "--cacert", server.certificate, *arguments, url]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def shown(server, *arguments):
    """What openssl s_client says of a connection."""
    return openssl("s_client", "-connect", f"127.0.0.1:{server.port}", "-CAfile", server.certificate, *arguments)


def test_curl_over_tls():
    for kind in (("ec", "-pkeyopt", "ec_paramgen_curve:P-256"), ("rsa:2048",)):
        with secure_server(kind=kind) as server:
            made = curl(server, "--json", json.dumps(definition(id="secure")))
            assert made.returncode == 0 and json.loads(made.stdout)["id"] == "secure", made
            listed = curl(server)
            assert [study["id"] for study in json.loads(listed.stdout)["items"]] == ["secure"], listed
            large = curl(server, "--compressed", path="/openapi.yaml")
            assert large.returncode == 0 and large.stdout.startswith("#"), large.stderr
            unknown = subprocess.run(["curl", "-sS", f"https://localhost:{server.port}/"], capture_output=True, text=True, check=False)
            assert unknown.returncode == 60, "nobody vouches for it: " + unknown.stderr


def test_only_tls_1_2_and_1_3():
    with secure_server() as server:
        for version in ("-tls1_2", "-tls1_3"):
            said = shown(server, version)
            assert "Verify return code: 0 (ok)" in said.stdout, (version, said)
        for version in ("-tls1", "-tls1_1"):
            said = shown(server, version, "-cipher", "ALL:@SECLEVEL=0")
            assert said.returncode != 0 and "Cipher is (NONE)" in said.stdout, (version, said.stdout[-500:])


def test_weak_ciphers_are_refused():
    with secure_server() as server:
        for cipher in ("NULL", "RC4", "3DES", "aNULL"):
            said = shown(server, "-tls1_2", "-cipher", cipher + ":@SECLEVEL=0")
            assert "Cipher is (NONE)" in said.stdout or "no cipher match" in said.stderr, (cipher, said.stdout[-500:])


def peer_name(server):
    """The common name of the certificate that a new connection is shown."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection((server.host, server.port), timeout=60) as plain, context.wrap_socket(plain) as connection:
        der = connection.getpeercert(binary_form=True)
    said = openssl("x509", "-noout", "-subject", text=ssl.DER_cert_to_PEM_cert(der)).stdout
    return said.strip().rsplit("= ", 1)[-1].rsplit("=", 1)[-1]


def until_log(server, text, times=1):
    eventually(lambda: server.log().count(text) >= times, text)


def test_a_new_certificate_on_sighup():
    with secure_server() as server:
        context = ssl.create_default_context(cafile=server.certificate)
        kept = http.client.HTTPSConnection("localhost", server.port, context=context, timeout=60)
        kept.request("GET", "/healthz")
        assert kept.getresponse().read() and peer_name(server) == "first"
        folder = pathlib.Path(server.certificate).parent
        make_certificate(folder, "second")
        assert peer_name(server) == "first", "not before it is told"
        server.process.send_signal(signal.SIGHUP)
        until_log(server, "certificate_loaded", times=2)
        assert peer_name(server) == "second"
        kept.request("GET", "/healthz")
        assert kept.getresponse().status == 200, "a connection that is there goes on"
        kept.close()
        pathlib.Path(folder, "tls.key").write_text("no key\n")
        server.process.send_signal(signal.SIGHUP)
        until_log(server, "certificate_failed")
        assert peer_name(server) == "second", "what is not good does not count"
        assert curl(server).returncode == 0


def test_sighup_without_tls_changes_nothing(server):
    server.process.send_signal(signal.SIGHUP)
    until_log(server, "reloading")
    assert server.client().get("/healthz").status == 200


def test_plain_http_is_not_answered():
    with secure_server() as server:
        with socket.create_connection((server.host, server.port), timeout=60) as connection:
            connection.sendall(b"GET /v1/studies HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"HTTP/1.1" not in received(connection)
        assert curl(server).returncode == 0


def test_what_no_request_is_made_of_is_refused_over_tls_as_without():
    with secure_server() as server:
        context = ssl.create_default_context(cafile=server.certificate)
        for head, status in ((b"Content-Length: x\r\n", 400), (b"X-Filler: " + b"a" * 100000 + b"\r\n", 431)):
            plain = socket.create_connection((server.host, server.port), timeout=60)
            with context.wrap_socket(plain, server_hostname="localhost") as connection:
                with contextlib.suppress(ssl.SSLEOFError, ConnectionResetError):  # refused before all of it is sent
                    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n")
                answer = received(connection)
            is_refused(answer, status, "")
        assert curl(server).returncode == 0


def test_silent_handshakes_are_ended():
    with secure_server("--request-seconds", "1") as server:
        with socket.create_connection((server.host, server.port), timeout=30) as connection:
            connection.sendall(b"\x16\x03\x01")
            assert received(connection) == b""
        assert curl(server).returncode == 0


def test_tokens_over_tls():
    with secure_server("--auth", "token") as server:
        status, token, err = run_to_end("token", "create", "--role", "admin", "--db", str(server.db))
        assert status == 0, err
        allowed = curl(server, "-H", f"Authorization: Bearer {token.strip()}")
        assert json.loads(allowed.stdout) == {"items": []}, allowed
        assert json.loads(curl(server).stdout)["status"] == 401


def test_files_that_are_no_pair_are_refused():
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        certificate, key = make_certificate(one, "one")
        other_key = make_certificate(other, "other")[1]
        base = ["serve", "--listen", "127.0.0.1:0", "--db", one + "/x.db"]
        for arguments, status in (
            (["--tls-cert", certificate], 2),
            (["--tls-key", key], 2),
            (["--tls-cert", certificate, "--tls-key", other_key], 1),
            (["--tls-cert", key, "--tls-key", key], 1),
            (["--tls-cert", certificate, "--tls-key", certificate], 1),
            (["--tls-cert", "/nonexistent", "--tls-key", key], 1),
        ):
            ended, out, err = run_to_end(*base, *arguments)
            assert ended == status and out == "" and ("tls" in err or "certificate_failed" in err), (arguments, ended, out, err)
