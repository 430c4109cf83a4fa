"""The chat in a browser, with the real SDK, over each transport.

Pictures of the page are in target/browser afterwards."""

import json
import os
import shutil
import tempfile
import unittest

from harness.chromium import CHROMIUM, Browser
from harness.ports import free_port
from harness.replication import Client
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

    def publish(self, text):
        """The server says something, without a user."""
        with Client(self.server.port) as c:
            self.assertIsInstance(c("LIVE.PUBLISH", "chat:lobby", json.dumps({"text": text})), list)

    def go_offline(self, window, offline):
        """The window has no network, or has it again."""
        window.call("Network.enable")
        window.call("Network.emulateNetworkConditions", offline=offline, latency=0, downloadThroughput=-1, uploadThroughput=-1)

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
        # A line of the server is of nobody.
        self.publish("the doors close at ten")
        for window in [ada, tony]:
            window.until_text("#messages", "server the doors close at ten")
        # Ada is away while others talk. What she missed is there afterwards, once and in order.
        self.go_offline(ada, True)
        self.end_connections()
        ada.until("document.querySelector('#state').innerText != 'connected'")
        tony.until_text("#state", "connected")
        for n in range(3):
            self.say(tony, f"again {n}")
        self.publish("ten o'clock")
        tony.until_text("#messages", "ten o'clock")
        self.assertEqual(self.lines(ada), ["1", "2", "3"])
        self.go_offline(ada, False)
        ada.until_text("#messages", "ten o'clock")
        for window in [ada, tony]:
            window.until_text("#state", "connected")
            self.assertEqual(self.lines(window), ["1", "2", "3", "4", "5", "6", "7"])
            said = window.value("document.querySelector('#messages').innerText")
            places = [said.index(line) for line in ["again 0", "again 1", "again 2", "ten o'clock"]]
            self.assertEqual(places, sorted(places))
        with Client(self.server.port) as c:
            recovered = c("INFO", "live").decode()
        self.assertRegex(recovered, "live_recovered:[1-9]")
        # Being offline is complained about by the browser itself.
        if transport == "websocket":
            self.assertEqual([text for text in ada.complaints() if "ERR_" not in str(text)], [])

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
