"""Who may use a broker: tokens of an issuer, tokens of `queen token`, tokens of a file, and nobody else."""

import contextlib
import json
import os
import subprocess
import threading
import time

import pytest

from support.issuer import Issuer
from support.postgres import Postgres
from support.process import wait_until
from support.scrape import Scrape
from support.tokens import Signer, base64url, bearer

# Authentication needs no database.
NO_DATABASE = {"PG_HOST": "127.0.0.1", "PG_PORT": "1", "FILE_BUFFER_MAX_BYTES": "0"}
NONE = base64url(b'{"alg":"none"}')
SECRET = "a secret of the issuer, long enough for HS256"


@pytest.fixture(scope="module")
def shared_postgres():
    with contextlib.closing(Postgres()) as postgres:
        postgres.start()
        yield postgres


@pytest.fixture
def alone(make_broker):
    """alone(**env) -> a Broker without a database."""
    return lambda **env: make_broker("--num-workers", "2", env=NO_DATABASE | env).start(until="live")


def ask(broker, token=None, method="POST", path="/api/v1/push", body=None):
    """(status, error). A push of nothing, by default, which asks nobody but the authority."""
    reply = broker.request(method, path, {"items": []} if body is None and method == "POST" else body,
                           headers=bearer(token) if token else None, timeout=60)
    return reply.status, (reply.json().get("error", "") if reply.status >= 400 else "")


def queen_token(broker, *args):
    """What `queen token` prints, for the database of this broker."""
    return subprocess.run([broker.program, "token", *args, "--data-dir", broker.data_dir], env=broker.env, check=True,
                          capture_output=True, text=True, timeout=120).stdout


def test_a_network_is_not_served_unasked(make_broker):
    broker = make_broker(env=NO_DATABASE)
    broker.listens_on = "0.0.0.0"
    code, output = broker.run_to_end()
    assert code != 0
    for way in ("JWT_ENABLED", "QUEEN_TOKENS_FILE", "QUEEN_ALLOW_ANONYMOUS=true"):
        assert way in output
    broker.env["QUEEN_ALLOW_ANONYMOUS"] = "true"
    broker.start(until="live")
    assert "QUEEN_ALLOW_ANONYMOUS" in broker.log()
    assert ask(broker) == (201, "")


def test_dashboards_can_warn(make_broker, shared_postgres):
    env = {"DATABASE_URL": shared_postgres.url, "NUM_WORKERS": "2"}
    closed = make_broker(env=env).start()
    assert closed.get("/api/v1/status").json()["security"] == {"authentication": False, "openToNetwork": False}
    is_open = make_broker(env=env | {"QUEEN_ALLOW_ANONYMOUS": "true"})
    is_open.listens_on = "0.0.0.0"
    is_open.start()
    assert is_open.get("/api/v1/status").json()["security"] == {"authentication": False, "openToNetwork": True}


@pytest.mark.parametrize("alg", ["HS256", "RS256", "ES256", "EdDSA"])
def test_each_algorithm(alone, directory, alg):
    signer = Signer(alg, directory, secret=SECRET)
    key = {"JWT_SECRET": SECRET} if alg == "HS256" else {"JWT_PUBLIC_KEY": signer.public_pem()}
    broker = alone(JWT_ENABLED="true", JWT_ISSUER="https://issuer.example", JWT_AUDIENCE="queen", **key)
    claims = {"iss": "https://issuer.example", "aud": ["queen"]}

    def answer(token):
        return ask(broker, token)
    good = signer.token(**claims)
    head, body, signature = good.split(".")
    assert answer(good) == (201, "")
    assert answer(signer.token(**claims, role="read-write")) == (201, "")
    assert answer(signer.token(**claims, role=None, roles=["x", "read-write"])) == (201, "")
    assert answer(signer.token(**claims, role="read-only")) == (403, "Insufficient permissions")
    assert answer(signer.token(**claims, role=None)) == (403, "Insufficient permissions")
    assert answer(None) == (401, "Authentication required")
    now = int(time.time())
    assert answer(signer.token(**claims, exp=now - 3600)) == (401, "The token has expired")
    assert answer(signer.token(**claims, nbf=now + 3600)) == (401, "The token is not valid yet")
    assert answer(signer.token(aud="queen", iss="https://evil.example")) == (401, "The token is from another issuer")
    assert answer(signer.token(iss=claims["iss"], aud="somebody")) == (401, "The token is for another audience")
    forged = base64url(json.dumps({"sub": "x", "role": "admin", **claims}).encode())
    for token in (f"{head}.{forged}.{signature}", f"{head}.{body}.", f"{head}.{body}",
                  f"{NONE}.{body}.", f"{NONE}.{body}.{signature}",
                  Signer(alg, directory, kid="other", secret="another secret of the same length, or so").token(**claims)):
        assert answer(token)[0] == 401, token
    # A public key is no secret, whatever the header says.
    if alg != "HS256":
        for secret in (signer.public_pem(), signer.public_pem().strip()):
            assert answer(Signer("HS256", directory, secret=secret).token(**claims))[0] == 401
    # Nothing of a token is in the log.
    assert signature not in broker.log() and SECRET not in broker.log()
    assert broker.get("/health", headers=bearer("x")).status in (200, 503)
    assert broker.get("/metrics").status == 200


def test_keys_of_an_issuer_come_and_go(alone, closing, directory):
    """Rotation, and an issuer that is away."""
    first, second, stranger = (Signer(alg, directory, kid=kid) for alg, kid in (
        ("ES256", "first"), ("EdDSA", "second"), ("ES256", "stranger")))
    issuer = closing(Issuer(directory, first.jwk()))
    broker = alone(JWT_ENABLED="true", JWT_JWKS_URL=issuer.url, JWT_JWKS_CERTIFICATE=issuer.certificate)

    def until(token, status):
        return wait_until(lambda: ask(broker, token)[0] == status, 120, f"a token to be answered {status}")
    until(first.token(), 201)
    issuer.keys = [first.jwk(), second.jwk()]
    # At worst "try again": never refused while the key may be a new one.
    seen = set()
    wait_until(lambda: seen.add(ask(broker, second.token())[0]) or 201 in seen, 120, "the new key to be known")
    assert seen <= {201, 503}
    until(stranger.token(), 401)
    fetches = issuer.fetches
    for number in range(50):
        assert ask(broker, stranger.token(header={"kid": f"stranger-{number}"}))[0] in (401, 503)
    assert issuer.fetches - fetches < 50
    issuer.keys = None
    until(stranger.token(header={"kid": "another"}), 503)
    issuer.close()
    assert ask(broker, first.token()) == (201, "") and ask(broker, second.token()) == (201, "")


def test_an_issuer_is_believed_only_with_its_certificate(alone, closing, directory):
    signer = Signer("ES256", directory, kid="key")
    issuer = closing(Issuer(directory, signer.jwk()))
    broker = alone(JWT_ENABLED="true", JWT_JWKS_URL=issuer.url)
    wait_until(lambda: "could not be fetched" in broker.log(), 120, "the broker to say that it got no keys")
    status, error = ask(broker, signer.token())
    assert status == 503 and "ECONNREFUSED" in error


def test_tokens_of_a_file(alone, directory):
    file = os.path.join(directory, "tokens")

    def write(text, mode=0o600):
        with open(file + ".new", "w", encoding="utf-8") as out:
            out.write(text)
        os.chmod(file + ".new", mode)
        os.rename(file + ".new", file)
    write("the-token-of-the-worker read-write sub=worker push=orders.*\nthe-token-of-operators admin sub=ops\n")
    broker = alone(QUEEN_TOKENS_FILE=file)
    assert ask(broker, "the-token-of-the-worker") == (201, "")
    assert ask(broker, "the-token-of-the-worker", body={"items": [{"queue": "mail"}]})[0] == 403
    assert ask(broker, "the-token-of-nobody") == (401, "Unknown or revoked token")
    assert ask(broker, "the-token-of-operators", "GET", "/api/v1/system/maintenance") == (200, "")
    assert ask(broker, "the-token-of-the-worker", "GET", "/api/v1/system/maintenance")[0] == 403
    write("the-token-of-nobody read-write\n")
    wait_until(lambda: ask(broker, "the-token-of-nobody")[0] == 201, 60, "the file to be read again")
    assert ask(broker, "the-token-of-the-worker")[0] == 401
    write("the-token-of-the-worker owner\n")  # no such role: what was read before stands
    wait_until(lambda: "QUEEN_TOKENS_FILE has changed and cannot be used" in broker.log(), 60, "the broker to complain")
    assert ask(broker, "the-token-of-nobody")[0] == 201 and "the-token-of" not in broker.log()


def test_others_may_not_read_the_file(make_broker, directory):
    file = os.path.join(directory, "tokens")
    with open(file, "w", encoding="utf-8") as out:
        out.write("the-token-of-operators admin\n")
    os.chmod(file, 0o644)
    code, output = make_broker(env=NO_DATABASE | {"QUEEN_TOKENS_FILE": file}).run_to_end()
    assert code != 0 and "QUEEN_TOKENS_FILE" in output and "chmod" in output
    assert "the-token-of-operators" not in output


@pytest.fixture
def guarded(make_broker, shared_postgres):
    """A Broker that takes the tokens of `queen token`."""
    return make_broker("--num-workers", "2",
                       env=shared_postgres.env() | {"QUEEN_TOKENS_ENABLED": "true"}).start()


def test_a_token_is_made_used_listed_and_revoked(guarded):
    token = queen_token(guarded, "create", "--role", "read-write", "--sub", "worker-1", "--push", "orders.*",
                        "--pop", "orders.*", "--ttl", "30d").strip()
    made, = [row for row in json.loads(queen_token(guarded, "list", "--json")) if row["sub"] == "worker-1"]
    assert made["state"] == "valid" and made["queues"]["push"] == ["orders.*"] and token not in json.dumps(made)
    wait_until(lambda: ask(guarded, token)[0] == 201, 60, "the token to be known")
    item = {"queue": "orders.eu", "payload": 1, "producerSub": "mallory"}
    headers = bearer(token)
    pushed = guarded.post("/api/v1/push", {"items": [item]}, headers=headers).json()[0]
    assert pushed["status"] == "queued"
    popped = guarded.get("/api/v1/pop/queue/orders.eu", headers=headers).json()
    assert popped["messages"][0]["producerSub"] == "worker-1"
    other = json.loads(queen_token(guarded, "create", "--role", "read-write", "--sub", "worker-2", "--pop", "mail",
                                   "--json"))["token"]
    wait_until(lambda: ask(guarded, other)[0] == 201, 60, "the other token to be known")
    ack = {"transactionId": pushed["transaction_id"], "partitionId": pushed["partition_id"], "leaseId": popped["leaseId"]}
    assert ask(guarded, other, body=ack, path="/api/v1/ack")[0] == 403
    assert ask(guarded, other, "GET", "/api/v1/pop/queue/orders.eu")[0] == 403
    assert ask(guarded, other, "GET", f"/api/v1/messages/{pushed['partition_id']}/{pushed['transaction_id']}")[0] == 403
    assert guarded.post("/api/v1/ack", ack, headers=headers).json()[0]["success"]
    queues = guarded.get("/api/v1/resources/queues", headers=bearer(other)).json()["queues"]
    assert queues == []
    queen_token(guarded, "revoke", made["id"])
    wait_until(lambda: ask(guarded, token) == (401, "Unknown or revoked token"), 60, "the token to be refused")
    assert ask(guarded, other)[0] == 201


def test_a_token_is_revoked_under_load(guarded):
    """Once refused it stays refused, on every worker, and others go on."""
    tokens = [json.loads(queen_token(guarded, "create", "--role", "read-write", "--sub", f"load-{number}", "--json"))
              for number in range(2)]
    for token in tokens:
        wait_until(lambda token=token: ask(guarded, token["token"])[0] == 201, 60, "the token to be known")
    revoked, stop, wrong = threading.Event(), threading.Event(), []

    def load(token, is_the_one):
        while not stop.is_set():
            known = revoked.is_set()
            status, _ = ask(guarded, token)
            if status not in ((201, 401) if is_the_one and not known else (401,) if is_the_one else (201,)):
                wrong.append((is_the_one, known, status))
    threads = [threading.Thread(target=load, args=(tokens[number % 2]["token"], number % 2 == 0)) for number in range(4)]
    for thread in threads:
        thread.start()
    try:
        queen_token(guarded, "revoke", tokens[0]["id"])

        # New connections go to the workers in turn: so many refusals in a row are of all of them.
        def is_refused_everywhere():
            return all(ask(guarded, tokens[0]["token"])[0] == 401 for _ in range(20))
        wait_until(is_refused_everywhere, 60, "the token to be refused by every worker")
        revoked.set()
        for _ in range(50):
            assert ask(guarded, tokens[1]["token"])[0] == 201
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not wrong


def test_a_waiting_pop_ends_with_its_token(guarded):
    """Whether it is revoked or expires; and what is pushed afterwards stays where it is."""
    made = [json.loads(queen_token(guarded, "create", "--role", "read-write", "--sub", sub, "--json", *more))
            for sub, more in (("revoked", ()), ("brief", ("--ttl", "8s")), ("stays", ()))]
    tokens = [token["token"] for token in made]
    # All workers know what one knows, and whoever knows the last knows all.
    wait_until(lambda: ask(guarded, tokens[2])[0] == 201, 60, "the tokens to be known")
    replies = {}

    def wait_for_messages(place):
        path = f"/api/v1/pop/queue/ended-{place}?wait=true&timeout=60000"
        replies[place] = guarded.get(path, headers=bearer(tokens[place]), timeout=120)
    threads = [threading.Thread(target=wait_for_messages, args=(place,)) for place in range(3)]
    for thread in threads:
        thread.start()
    wait_until(lambda: 1 in replies or Scrape.of(guarded).sum("queen_pops_waiting") == 3, 60, "the pops to wait")
    queen_token(guarded, "revoke", made[0]["id"])
    for thread in threads[:2]:
        thread.join()
    assert [replies[place].status for place in range(2)] == [401, 401] and 2 not in replies
    for place in range(3):
        pushed = {"items": [{"queue": f"ended-{place}", "payload": place}]}
        assert guarded.post("/api/v1/push", pushed, headers=bearer(tokens[2])).status == 201
    threads[2].join()
    assert replies[2].json()["messages"][0]["data"] == 2
    for place in range(2):
        popped = guarded.get(f"/api/v1/pop/queue/ended-{place}", headers=bearer(tokens[2])).json()
        assert popped["messages"][0]["data"] == place


def test_streaming_queries_of_others(guarded):
    """Their names, their state and their cycles are not for who may not use their queues."""
    owner, thief = (json.loads(queen_token(guarded, "create", "--role", "read-write", "--sub", sub, "--pop", queue,
                                           "--push", queue, "--json"))["token"]
                    for sub, queue in (("owner", "sales"), ("thief", "mine")))
    for token in (owner, thief):
        wait_until(lambda token=token: ask(guarded, token)[0] == 201, 60, "the token to be known")
    query = {"name": "totals", "source_queue": "sales", "config_hash": "1"}
    reply = guarded.post("/streams/v1/queries", query, headers=bearer(owner)).json()
    partition = guarded.post("/api/v1/push", {"items": [{"queue": "sales"}]}, headers=bearer(owner)).json()[0]["partition_id"]
    mine = guarded.post("/api/v1/push", {"items": [{"queue": "mine"}]}, headers=bearer(thief)).json()[0]["partition_id"]
    cycle = {"query_id": reply["query_id"], "partition_id": partition,
             "state_ops": [{"type": "upsert", "key": "k", "value": 1}]}
    assert guarded.post("/streams/v1/cycle", cycle, headers=bearer(owner)).json()["success"]
    for path, body in (("/streams/v1/queries", query | {"source_queue": "mine"}),
                       ("/streams/v1/queries", query | {"source_queue": "mine", "config_hash": "2", "reset": True}),
                       ("/streams/v1/cycle", cycle | {"partition_id": mine}),
                       ("/streams/v1/state/get", {"query_id": reply["query_id"], "partition_id": mine})):
        assert ask(guarded, thief, path=path, body=body)[0] == 403, (path, body)
    state = {"query_id": reply["query_id"], "partition_id": partition}
    rows = guarded.post("/streams/v1/state/get", state, headers=bearer(owner)).json()["rows"]
    assert [row["key"] for row in rows] == ["k"]
    own = query | {"name": "of-mine", "source_queue": "mine", "reset": True}
    assert guarded.post("/streams/v1/queries", own, headers=bearer(thief)).json()["fresh"]


def test_secrets_are_shown_nowhere(alone, directory):
    broker = alone(JWT_ENABLED="true", JWT_SECRET=SECRET, LOG_LEVEL="trace")
    token = Signer("HS256", directory, secret=SECRET).token()
    assert ask(broker, token) == (201, "")
    assert ask(broker, token + "x")[0] == 401
    shown = subprocess.run([broker.program, "config", "--json"], env=broker.env, check=True, capture_output=True,
                           text=True, timeout=60)
    with open(f"/proc/{broker.pid}/cmdline", encoding="utf-8") as file:
        command = file.read()
    for text in (shown.stdout, shown.stderr, broker.log(), command):
        assert SECRET not in text and token.split(".")[2] not in text
    refused = subprocess.run([broker.program, "serve", "--jwt-secret", SECRET], env=broker.env, check=False,
                             capture_output=True, text=True, timeout=60)
    assert refused.returncode == 2 and "JWT_SECRET" in refused.stderr and SECRET not in refused.stderr


@pytest.mark.parametrize("url", ["postgresql://queen:s3%cret@localhost/q", "postgres://queen:s3cret",
                                 "postgresql://queen:s3/cret@localhost/q", "postgresql://queen:s3cret@[::1/q"])
def test_the_password_of_a_malformed_url_is_not_repeated(make_broker, url):
    broker = make_broker(env={"DATABASE_URL": url})
    for command in (["config"], ["migrate"], ["token", "list"], ["serve", "--port", str(broker.port)]):
        run = subprocess.run([broker.program, *command], env=broker.env, check=False, capture_output=True, text=True,
                             timeout=60)
        for part in ("s3", "cret@", "%cret"):
            assert part not in run.stdout + run.stderr, (command, run.stdout + run.stderr)
        assert command == ["config"] or (run.returncode != 0 and "percent-encoded" in run.stderr), (command, run.stderr)
