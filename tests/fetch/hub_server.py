"""A server that behaves as the Hugging Face Hub does for kernel repositories, for tests.

Files that are large on the Hub (here: shared libraries) are on another server, the CDN, to which
the first redirects; it has another host name, and its URLs hold a signature. Every request is noted.
Faults are functions that see a request first: see Fault.
"""

import dataclasses
import hashlib
import http.server
import json
import re
import threading
import time
import urllib.parse

PAGE = 5  # files a page of a list


def git_digest(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def is_large(path):
    return path.endswith(".so")


def digest(path, data):
    """What the blob is called."""
    return hashlib.sha256(data).hexdigest() if is_large(path) else git_digest(data)


@dataclasses.dataclass
class Request:
    server: str  # "hub" or "cdn"
    method: str
    path: str  # with the query
    headers: dict  # names in lower case
    route: str = ""  # "refs", "revision", "tree", "resolve", "cdn"


@dataclasses.dataclass
class Answer:
    status: int = 200
    headers: dict = dataclasses.field(default_factory=dict)
    body: bytes = b""
    cut: int | None = None  # the connection ends after so many bytes
    drip: float = 0  # seconds between pieces of the body
    piece: int = 1
    endless: bool = False  # the body is sent again and again, without a length
    wait: float = 0  # seconds before the first byte


class Repository:
    def __init__(self):
        self.branches, self.tags, self.commits = {}, {}, {}

    def add(self, commit, files, *refs):
        """Adds files to a commit, and refs that mean it; versions like v1.0.0 are tags."""
        there = self.commits.setdefault(commit, {})
        for path, text in files.items():
            there[path] = text if isinstance(text, bytes) else text.encode()
        for ref in refs:
            (self.tags if ref.count(".") else self.branches)[ref] = commit

    def commit(self, revision):
        for refs in (self.branches, self.tags):
            if revision in refs:
                return refs[revision]
        found = [c for c in self.commits if len(revision) >= 7 and c.startswith(revision)]
        return found[0] if found else None


class Hub:
    """`with Hub() as hub:` hub.endpoint is what HF_ENDPOINT is to be."""

    def __init__(self):
        self.repositories, self.requests, self.faults = {}, [], []
        self.token = None  # what is asked for; None: nothing
        self.extra_files = []  # entries of every list of files that no repository has
        self.lock = threading.Lock()

    def repository(self, name):
        return self.repositories.setdefault(name, Repository())

    def __enter__(self):
        self.servers = [self.serve("hub"), self.serve("cdn")]
        self.endpoint = f"http://127.0.0.1:{self.servers[0].server_port}"
        self.cdn = f"http://localhost:{self.servers[1].server_port}"
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def serve(self, name):
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                hub.handle(self, name)

            do_HEAD = do_GET

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_):
                pass  # clients are killed

        server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        return server

    def handle(self, handler, server):
        request = Request(server, handler.command, handler.path,
                          {k.lower(): v for k, v in handler.headers.items()})
        request.route = self.route(request)
        with self.lock:
            self.requests.append(request)
            faults = list(self.faults)
        answer = None
        for fault in faults:
            answer = answer or fault(request)
        self.send(handler, answer or self.answer(request))

    @staticmethod
    def route(request):
        if request.server == "cdn":
            return "cdn"
        for name in ("refs", "revision", "tree"):
            if re.match(rf"/api/kernels/[^/]+/[^/]+/{name}\b", request.path):
                return name
        return "resolve" if "/resolve/" in request.path else "other"

    def answer(self, request):
        url = urllib.parse.urlsplit(request.path)
        path = urllib.parse.unquote(url.path)
        if request.server == "cdn":
            return self.content(request, self.blob(path.removeprefix("/blob/")), {})
        if self.token and request.headers.get("authorization") != f"Bearer {self.token}":
            return Answer(401, {"X-Error-Code": "RepoNotFound"})
        if path.startswith("/api/organizations/"):
            return self.json({"name": "x", "fullname": "x", "avatarUrl": "",
                              "trustedKernelPublisher": True})
        found = re.match(r"/(?:api/)?kernels/([^/]+/[^/]+)(?:/(refs|revision|tree|resolve)(/.*)?)?$",
                         path)
        repository = self.repositories.get(found[1]) if found else None
        if not repository:
            return Answer(404, {"X-Error-Code": "RepoNotFound"})
        if found[2] == "refs":
            return self.json({
                "branches": [{"name": n, "ref": f"refs/heads/{n}", "targetCommit": c}
                             for n, c in repository.branches.items()],
                "converts": [],
                "tags": [{"name": n, "ref": f"refs/tags/{n}", "targetCommit": c}
                         for n, c in repository.tags.items()]})
        # Slashes of a revision are escaped; here they are told apart by what is there.
        raw = url.path.split(f"/{found[2]}/", 1)[1] if found[3] else "main"
        revision, _, rest = raw.partition("/")
        revision, rest = urllib.parse.unquote(revision), urllib.parse.unquote(rest)
        commit = repository.commit(revision)
        if not commit:
            return Answer(404, {"X-Error-Code": "RevisionNotFound"})
        if found[2] in (None, "revision"):
            return self.json({"id": found[1], "_id": "1", "sha": commit, "private": False,
                              "siblings": [], "tags": [], "author": "x"})
        if found[2] == "tree":
            return self.tree(request, url, repository.commits[commit], rest)
        data = repository.commits[commit].get(rest)
        if data is None:
            return Answer(404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit})
        name = digest(rest, data)
        headers = {"X-Repo-Commit": commit, "ETag": f'"{name}"'}
        if is_large(rest):
            return Answer(302, {**headers, "X-Linked-ETag": f'"{name}"',
                                "X-Linked-Size": str(len(data)),
                                "Location": f"{self.cdn}/blob/{name}?Signature=SECRET"})
        return self.content(request, data, headers)

    def tree(self, request, url, files, below):
        entries, folders = [], set()
        for path, data in sorted(files.items()):
            if below and not path.startswith(below + "/"):
                continue
            rest = path[len(below) + 1:] if below else path
            for i, c in enumerate(path):
                if c == "/" and i > len(below):
                    folders.add(path[:i])
            entry = {"type": "file", "oid": git_digest(data), "size": len(data), "path": path}
            if is_large(path):
                name = hashlib.sha256(data).hexdigest()
                entry["lfs"] = {"oid": name, "size": len(data), "pointerSize": 130}
                entry["oid"] = git_digest(name.encode())
            entries.append((rest.count("/"), entry))
        recursive = "recursive=true" in url.query.lower()
        listed = [{"type": "directory", "oid": "0" * 40, "size": 0, "path": f}
                  for f in sorted(folders)
                  if recursive or f[len(below) + bool(below):].count("/") == 0]
        listed += [e for depth, e in entries if recursive or depth == 0]
        if below and not entries:
            return Answer(404, {"X-Error-Code": "EntryNotFound"})
        listed += self.extra_files
        start = int(urllib.parse.parse_qs(url.query).get("cursor", ["0"])[0])
        headers = {}
        if start + PAGE < len(listed):
            query = "&".join(q for q in url.query.split("&") if not q.startswith("cursor="))
            headers["Link"] = f'<{self.endpoint}{url.path}?{query}&cursor={start + PAGE}>; rel="next"'
        return self.json(listed[start:start + PAGE], headers)

    def blob(self, name):
        for repository in self.repositories.values():
            for files in repository.commits.values():
                for path, data in files.items():
                    if digest(path, data) == name:
                        return data
        return None

    @staticmethod
    def json(value, headers=None):
        return Answer(200, {"Content-Type": "application/json", **(headers or {})},
                      json.dumps(value).encode())

    @staticmethod
    def content(request, data, headers):
        if data is None:
            return Answer(404)
        found = re.fullmatch(r"bytes=(\d+)-", request.headers.get("range", ""))
        if not found or request.method == "HEAD":
            return Answer(200, {**headers, "Accept-Ranges": "bytes"}, data)
        start = int(found[1])
        if start >= len(data):
            return Answer(416, {**headers, "Content-Range": f"bytes */{len(data)}"})
        return Answer(206, {**headers,
                            "Content-Range": f"bytes {start}-{len(data) - 1}/{len(data)}"},
                      data[start:])

    @staticmethod
    def send(handler, answer):
        try:
            time.sleep(answer.wait)
            handler.send_response(answer.status)
            for name, value in answer.headers.items():
                handler.send_header(name, value)
            if not answer.endless:
                handler.send_header("Content-Length", str(len(answer.body)))
            if answer.endless or answer.cut is not None:
                handler.send_header("Connection", "close")
                handler.close_connection = True
            handler.end_headers()
            if handler.command == "HEAD":
                return
            body = answer.body if answer.cut is None else answer.body[:answer.cut]
            while answer.endless:
                handler.wfile.write(body)
                time.sleep(answer.drip)
            if not answer.drip:
                handler.wfile.write(body)
            for i in range(0, len(body) if answer.drip else 0, answer.piece):
                handler.wfile.write(body[i:i + answer.piece])
                handler.wfile.flush()
                time.sleep(answer.drip)
        except OSError:
            handler.close_connection = True


def once(fault, times=1):
    """A fault that happens the first `times` times that it has an answer."""
    left, lock = [times], threading.Lock()

    def limited(request):
        with lock:
            answer = fault(request) if left[0] > 0 else None
            left[0] -= answer is not None
        return answer
    return limited


def on(route, make):
    """A fault of one route: `make` is an Answer, or makes one of a request."""
    def fault(request):
        if request.route != route and route != "any":
            return None
        return make(request) if callable(make) else make
    return fault
