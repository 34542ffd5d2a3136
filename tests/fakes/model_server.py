"""A server of lists of models on loopback, in a thread; as a proxy it answers in the place of any host."""

from __future__ import annotations

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class FakeModelServer:
    """Gives every request the same answer, and remembers request lines and heads."""

    def __init__(self, *models, status=200, body=None, delay=None, certificate=None):
        rows = [model if isinstance(model, dict) else {"id": model} for model in models]
        self.status, self.body = status, json.dumps({"object": "list", "data": rows}).encode() if body is None else body
        self.lines, self.heads = [], []
        self.leave = threading.Event()
        fake, self.delay = self, delay

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                fake.lines.append(self.requestline)
                fake.heads.append(dict(self.headers))
                self.rfile.read(int(self.headers.get("content-length", 0)))
                if fake.delay:
                    fake.leave.wait(fake.delay)
                self.send_response(fake.status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(fake.body)))
                self.end_headers()
                self.wfile.write(fake.body)

            do_POST = do_GET

            def log_message(self, format, *args):
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, request, client_address):
                """A client that has left is no news."""

        self._server = Server(("127.0.0.1", 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.url = f"{'https' if certificate else 'http'}://{self.host}/v1"

    def __enter__(self):
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *exc):
        self.leave.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
