"""A page in Chromium, over the DevTools protocol on a pipe; no package is needed.

Browser(chromium) as browser: browser.open(path), browser.run("JavaScript expression") -> value.
"""

import json
import os
import shutil
import subprocess
import tempfile


def find():
    """The program, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return None


class Browser:
    def __init__(self, program, *, dark=False, script=True):
        self.folder = tempfile.mkdtemp(prefix="km-browser-")
        commands, self.out = os.pipe()  # the browser reads 3 and writes 4
        self.read, answers = os.pipe()

        def files():
            # Both could be 3 or 4 themselves.
            high = (os.dup2(commands, 60), os.dup2(answers, 61))
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", "--no-first-run", "--disable-extensions",
             f"--user-data-dir={self.folder}", "--window-size=1200,900", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=files, close_fds=False)
        os.close(commands)
        os.close(answers)
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        target = next(target for target in self.call("Target.getTargets")["targetInfos"]
                      if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"],
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setScriptExecutionDisabled", value=not script)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.out)
        os.close(self.read)
        shutil.rmtree(self.folder, ignore_errors=True)

    def message(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.read, 1 << 16)
            if not piece:
                raise RuntimeError("the browser ended")
            self.buffer += piece
        first, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(first)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path):
        """Waits until the page is loaded."""
        self.events.clear()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())

    def complaints(self):
        """What the console says: errors of scripts, and what the page's policy forbade."""
        self.run("1")
        return [event["params"] for event in self.events
                if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]

    def requests(self):
        """What was loaded, the page itself left out."""
        urls = [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]
        return urls[1:]

    def run(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True, userGesture=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def key(self, name):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name,
                      windowsVirtualKeyCode={"ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37,
                                             "ArrowRight": 39, "Enter": 13, "Home": 36, "End": 35,
                                             "Tab": 9}[name])

    def screenshot(self, path, *, whole=False):
        import base64
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(data["data"]))
