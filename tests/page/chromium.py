"""A headless Chromium, driven over a pipe by the DevTools protocol: what is evaluated through it runs
in spite of the page's Content-Security-Policy, and no server is needed between.
"""

import base64
import json
import os
import select
import subprocess
import tempfile

ANSWER_SECONDS = 600


class Chromium:
    """One page in a browser with a profile of its own; used in a with statement."""

    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(prefix="bigtent-page.", ignore_cleanup_errors=True)
        orders, self.to_browser = os.pipe()
        self.from_browser, answers = os.pipe()
        options = [
            "--headless=new",
            "--remote-debugging-pipe",
            "--user-data-dir=" + self.profile.name,
            "--no-first-run",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--force-device-scale-factor=1",
        ]
        if os.geteuid() == 0:
            options.append("--no-sandbox")  # it refuses to start as root with one

        # The pipe's ends have to be 3 and 4.
        def place_ends():
            kept = os.dup(answers)
            os.dup2(orders, 3)
            os.dup2(kept, 4)

        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [program, *options],
            preexec_fn=place_ends,
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
        )
        os.close(orders)
        os.close(answers)
        self.pending = b""
        self.events = []
        self.count = 0
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        self.call("Page.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.to_browser)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.from_browser)
        self.profile.cleanup()

    def failure(self, why):
        self.log.seek(0)
        said = self.log.read().decode(errors="replace").strip().splitlines()[-5:]
        return RuntimeError("\n".join([f"chromium {why}", *said]))

    def receive(self):
        while b"\0" not in self.pending:
            if not select.select([self.from_browser], [], [], ANSWER_SECONDS)[0]:
                raise self.failure("does not answer")
            piece = os.read(self.from_browser, 1 << 20)
            if not piece:
                raise self.failure("ended")
            self.pending += piece
        message, _, self.pending = self.pending.partition(b"\0")
        return json.loads(message)

    def call(self, method, **params):
        self.count += 1
        order = {"id": self.count, "method": method, "params": params}
        if self.session:
            order["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(order).encode() + b"\0")
        while True:
            message = self.receive()
            if message.get("id") != self.count:
                self.events.append(message.get("method"))
                continue
            if "error" in message:
                raise RuntimeError(f"chromium: {method}: {message['error']['message']}")
            return message["result"]

    def open(self, path, width, height):
        """The file at path, in a window of that size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.events.clear()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        while "Page.loadEventFired" not in self.events:
            self.events.append(self.receive().get("method"))

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"chromium: {answer['exceptionDetails']}")
        return answer["result"]["value"]

    def picture(self, width, height):
        """PNG of the whole page."""
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        answer = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(answer["data"])

    def pdf(self):
        """As printed: the page's own style says which paper."""
        answer = self.call("Page.printToPDF", preferCSSPageSize=True)
        return base64.b64decode(answer["data"])
