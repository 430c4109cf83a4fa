"""The chat in a browser, with the real SDK, over each transport.

Pictures of the page are in target/browser afterwards."""

import os
import shutil
import tempfile
import unittest

from harness.chromium import CHROMIUM, Browser
from harness.ports import free_port
from harness.server import Server, beyond_redis

CHAT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples", "chat")


def sdk():
    """The script of centrifuge-js, which `cargo xtask test` installs."""
    places = [os.environ.get("NODE_PATH", ""), os.path.expanduser("~/.cache/apus/node/node_modules")]
    files = [os.path.join(place, "centrifuge", "dist", "centrifuge.js") for place in places if place]
    return next((file for file in files if os.path.exists(file)), None)


@beyond_redis
@unittest.skipUnless(CHROMIUM, "there is no chromium (apt-get install chromium)")
@unittest.skipUnless(sdk(), "there is no centrifuge-js (cargo xtask test --only browser installs it)")
class TestChat(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.__exit__)

    def setUp(self):
        root = tempfile.mkdtemp(prefix="apus-chat-")
        self.addCleanup(shutil.rmtree, root)
        site = os.path.join(root, "site")
        shutil.copytree(CHAT, site)
        shutil.copy(sdk(), os.path.join(site, "public", "centrifuge.js"))
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.server = Server("--web-port", port, "--web-root", site, "--live-config", os.path.join(site, "live.json"))
        self.addCleanup(self.server.close)

    def enter(self, name, transport, **kind):
        window = self.browser.window(apart=True, **kind)
        window.open(f"{self.url}/?transport={transport}")
        window.write("#name", name)
        window.click("#enter button")
        window.until_text("#state", "connected")
        window.until_text("#here", name)
        return window

    def say(self, window, text):
        window.write("#text", text)
        window.click("#say button")
        window.until("document.querySelector('#text').value == ''")

    def lines(self, window):
        return window.value("[...document.querySelectorAll('#messages li')].map(li => li.dataset.offset)")

    def end_connections(self):
        """The server ends all connections; the SDK comes back by itself."""
        with self.server.connect() as c:
            clients = c.exactly(int(c.command("CLIENT", "LIST")[1:]) + 2).decode()
            for line in clients.splitlines():
                if "user=default" not in line and "addr=" in line:
                    c.command("CLIENT", "KILL", "ID", line.split("id=")[1].split(" ")[0])

    def converse(self, transport):
        ada, tony = self.enter("Ada", transport), self.enter("Tony", transport)
        ada.until_text("#here", "Ada, Tony")
        tony.write("#text", "<i>hel")
        ada.until_text("#typing", "Tony is typing")
        self.say(tony, "<i>hello</i>")
        for window in [ada, tony]:
            window.until_text("#messages", "Tony <i>hello</i>")
        self.assertEqual(ada.value("document.querySelectorAll('#messages i').length"), 0)
        self.say(ada, "good evening")
        # What the function refuses is told.
        tony.write("#text", "   ")
        tony.click("#say button")
        tony.until_text("#wrong", "something between")
        ada.picture(f"chat-{transport}")
        # A third one sees what was said before, and is there until the window closes.
        eve = self.enter("Eve", transport)
        eve.until_text("#messages", "good evening")
        ada.until_text("#here", "Ada, Eve, Tony")
        eve.call("Page.close")
        ada.until("document.querySelector('#here').innerText == 'Ada, Tony'")
        # All connections end; what is said meanwhile is there afterwards, once and in order.
        self.end_connections()
        with self.server.connect() as c:
            for n in range(3):
                c.command("LIVE.PUBLISH", "typing:other", "{}")
        for window in [ada, tony]:
            window.until_text("#state", "connected")
        for n in range(3):
            self.say(tony, f"again {n}")
        for window in [ada, tony]:
            window.until_text("#messages", "again 2")
            self.assertEqual(self.lines(window), ["1", "2", "3", "4", "5"])
        self.assertEqual(ada.complaints() if transport == "websocket" else [], [])

    def test_over_websocket(self):
        self.converse("websocket")

    def test_over_sse(self):
        self.converse("sse")

    def test_over_http_stream(self):
        self.converse("http_stream")

    def test_on_a_telephone_at_night(self):
        window = self.enter("Ada", "websocket", width=360, height=740, dark=True)
        self.say(window, "x" * 200)
        window.until_text("#messages", "xxx")
        self.assertFalse(window.is_wide())
        window.picture("chat-narrow")


if __name__ == "__main__":
    unittest.main()
