"""The server of golden cases: its faults are lines of text.

  ROUTE STATUS [ERROR_CODE]     ROUTE (refs, revision, tree, resolve, cdn, any) is answered so
  ROUTE redirect URL            leads there
  ROUTE body TEXT               has this body
  file PATH                     every list of files has this one too
  token                         all needs a token that nobody has
"""

import contextlib

import hub_server
import sample


@contextlib.contextmanager
def server(text):
    with hub_server.Hub() as hub:
        sample.fill(hub)
        for line in text.splitlines():
            route, *rest = line.split(None, 2)
            if route == "token":
                hub.token = "nobody's"
            elif route == "file":
                hub.extra_files.append({"type": "file", "oid": "0" * 40, "size": 1,
                                        "path": line[5:].encode().decode("unicode_escape")})
            elif rest[0] == "redirect":
                answer = hub_server.Answer(302, {"Location": rest[1]})
                hub.faults.append(hub_server.on(route, answer))
            elif rest[0] == "body":
                hub.faults.append(hub_server.on(route, hub_server.Answer(200, {}, rest[1].encode())))
            else:
                headers = {"X-Error-Code": rest[1]} if rest[1:] else {}
                hub.faults.append(hub_server.on(route, hub_server.Answer(int(rest[0]), headers)))
        yield hub
