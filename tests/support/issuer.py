"""An issuer of tokens that publishes its keys over HTTPS, with a certificate of its own authority."""

import http.server
import json
import os
import ssl
import threading

from .tokens import openssl


class Issuer:
    """`keys` is what it publishes (JSON Web Keys); None: it answers 500. `fetches` counts who asked."""

    def __init__(self, directory, *keys):
        self.keys = list(keys)
        self.fetches = 0
        self.certificate = os.path.join(directory, "issuer.crt")
        key = os.path.join(directory, "issuer.key")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out",
                self.certificate)
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """Serves the set."""

            def do_GET(self):
                """Whatever is asked for."""
                issuer.fetches += 1
                body = json.dumps({"keys": issuer.keys}).encode()
                self.send_response(500 if issuer.keys is None else 200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                """Nobody reads it."""
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://127.0.0.1:{self._server.server_port}/jwks.json"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self):
        """It is away, and stays so."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
