"""A headless Chromium, driven by the DevTools protocol over a pipe: messages are JSON with a null byte behind each.
https://chromedevtools.github.io/devtools-protocol/"""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

from harness.server import PATIENCE_S

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# Where pictures are kept.
PICTURES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "target", "browser")


class Browser:
    """`with Browser() as browser: window = browser.window()`. Windows are apart like those of two visitors if they
    are told to be."""

    def __init__(self):
        if CHROMIUM is None:
            raise RuntimeError("there is no chromium: apt-get install chromium")
        self.profile = tempfile.mkdtemp(prefix="apus-browser-")
        to_read, to_child = os.pipe()
        from_child, to_write = os.pipe()
        options = [
            # The test may be run by root, in a container with a small /dev/shm.
            "--headless", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--mute-audio",
            "--no-default-browser-check", "--hide-scrollbars", f"--user-data-dir={self.profile}",
            "--remote-debugging-pipe",
        ]
        self.log = tempfile.TemporaryFile()
        # Chromium reads from 3 and writes to 4.
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}', CHROMIUM, *options],
            pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            start_new_session=True,
        )
        os.close(to_read)
        os.close(to_write)
        self.to_child, self.from_child = to_child, from_child
        self.left, self.number = b"", 0
        self.events, self.answers = [], {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # All of its processes are in a session of their own.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.to_child)
        os.close(self.from_child)
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _receive(self, wait):
        if not select.select([self.from_child], [], [], wait)[0]:
            return False
        piece = os.read(self.from_child, 1 << 16)
        if not piece:
            self.log.seek(0)
            raise RuntimeError("chromium has ended: " + self.log.read()[-2000:].decode(errors="replace"))
        *whole, self.left = (self.left + piece).split(b"\0")
        for text in whole:
            message = json.loads(text)
            if "id" in message:
                self.answers[message["id"]] = message
            else:
                self.events.append(message)
        return True

    def call(self, method, session=None, **params):
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to_child, data):]
        deadline = time.monotonic() + PATIENCE_S
        while number not in self.answers:
            self._receive(1)
            if time.monotonic() > deadline:
                raise AssertionError(f"no answer to {method}")
        answer = self.answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def window(self, width=900, height=800, dark=False, apart=False):
        context = {"browserContextId": self.call("Target.createBrowserContext")["browserContextId"]} if apart else {}
        target = self.call("Target.createTarget", url="about:blank", newWindow=True, **context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        window = Window(self, session)
        for domain in ["Page", "Runtime", "Log"]:
            window.call(f"{domain}.enable")
        window.size(width, height)
        if dark:
            window.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        return window


class Window:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def value(self, expression):
        """What an expression of JavaScript is."""
        made = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in made:
            raise AssertionError(f"{expression}: {made['exceptionDetails']}")
        return made["result"].get("value")

    def until(self, expression):
        """Waits until an expression is true. A page may go away meanwhile."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                if found := self.value(expression):
                    return found
            except RuntimeError:
                pass
            if time.monotonic() > deadline:
                raise AssertionError(f"still not so: {expression}; {self.value('document.body.innerText')}")
            time.sleep(0.02)

    def open(self, url):
        self.call("Page.navigate", url=url)
        path = json.dumps("/" + url.split("/", 3)[3])
        self.until(f"document.readyState == 'complete' && location.pathname + location.search == {path}")

    def text(self, selector):
        return self.value(f"document.querySelector({json.dumps(selector)})?.innerText")

    def until_text(self, selector, part):
        self.until(f"document.querySelector({json.dumps(selector)})?.innerText.includes({json.dumps(part)})")

    def click(self, selector):
        """Clicks where an element is, as a person does."""
        place = (
            f"(e => {{ e.scrollIntoView({{block: 'center'}}); const r = e.getBoundingClientRect();"
            f" return [r.x + r.width / 2, r.y + r.height / 2] }})(document.querySelector({json.dumps(selector)}))"
        )
        x, y = self.value(place)
        for kind in ["mousePressed", "mouseReleased"]:
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def write(self, selector, text):
        self.value(f"(e => {{ e.focus(); e.select?.() }})(document.querySelector({json.dumps(selector)}))")
        self.call("Input.insertText", text=text)

    def follow(self, selector):
        """Clicks what leads to another page, and waits for it."""
        self.value("window.isOld = true")
        self.click(selector)
        self.until("!window.isOld && document.readyState == 'complete'")

    def picture(self, name):
        os.makedirs(PICTURES, exist_ok=True)
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(os.path.join(PICTURES, name + ".png"), "wb") as f:
            f.write(base64.b64decode(data))

    def is_wide(self):
        """Whether the page is wider than its window."""
        return self.value("document.documentElement.scrollWidth > document.documentElement.clientWidth")

    def complaints(self):
        """Errors that the console tells of."""
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            if event["method"] == "Runtime.exceptionThrown":
                found.append(event["params"]["exceptionDetails"]["text"])
            entry = event["params"].get("entry", {})
            if event["method"] == "Log.entryAdded" and entry["level"] == "error" and "favicon" not in entry.get("url", ""):
                found.append(f"{entry['text']} {entry.get('url')}")
        return found
