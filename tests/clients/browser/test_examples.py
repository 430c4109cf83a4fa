"""The finished examples in a browser: forms are sent, and what one window does is seen in another one.

Pictures of the pages are in target/browser afterwards."""

import os
import shutil
import subprocess
import unittest
import urllib.request
import xml.etree.ElementTree

from harness.chromium import CHROMIUM, Browser
from harness.ports import free_port
from harness.server import Server, beyond_redis, wait_until

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples")


class Example:
    """A server with an example and its data, made by the commands of the example's README."""

    def __init__(self, name):
        root = os.path.abspath(os.path.join(EXAMPLES, name))
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.server = Server("--web-port", port, "--web-root", root)
        self.server.wait_for_log(f"Functions of functions/{name}.lua loaded")
        with open(os.path.join(root, "seed.redis"), "rb") as seed:
            done = subprocess.run(
                ["redis-cli", "-p", str(self.server.port)], stdin=seed, capture_output=True, text=True, timeout=30
            )
        assert done.returncode == 0 and "ERR" not in done.stdout, done

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.close()


@beyond_redis
@unittest.skipUnless(CHROMIUM, "there is no chromium (apt-get install chromium)")
@unittest.skipUnless(shutil.which("redis-cli"), "there is no redis-cli (apt-get install redis-tools)")
class TestExamples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.__exit__)

    def narrow_and_dark(self, example, path, name):
        """The page as a telephone shows it at night."""
        window = self.browser.window(360, 740, dark=True)
        window.open(example.url + path)
        self.assertFalse(window.is_wide(), f"{path} is wider than 360 px")
        window.picture(name + "-narrow")
        return window

    def quiet(self, *windows):
        for window in windows:
            self.assertEqual(window.complaints(), [])

    def test_leaderboard(self):
        with Example("leaderboard") as e, e.server.connect() as c:
            one, two = self.browser.window(), self.browser.window()
            for window in [one, two]:
                window.open(e.url + "/")
                window.until_text("tbody tr:first-child", "Ada")
            one.picture("leaderboard")
            # A script of the other window's own is still there afterwards: it was not loaded again.
            two.value("window.isTheSame = true")
            one.write("#player", "<i>Zuse</i>")
            one.write("#points", "100")
            one.follow("form button")
            one.until_text("tbody", "<i>Zuse</i>")
            two.until_text("tbody", "<i>Zuse</i>")
            two.until_text("[data-live=numbers]", "7\nplayers")
            self.assertTrue(two.value("window.isTheSame"))
            self.assertEqual(two.value("document.querySelectorAll('tbody i').length"), 0)
            # A write by a client of the store.
            c.command("ZINCRBY", "board", 500, "Tony")
            for window in [one, two]:
                window.until_text("tbody tr:first-child", "Tony")
                window.until_text("tbody tr:first-child", "521")
            two.picture("leaderboard-changed")
            # The form is checked in the function, too.
            one.value("document.querySelector('form').noValidate = true")
            one.write("#points", "1000")
            one.follow("form button")
            one.until_text("h1", "That did not work")
            narrow = self.narrow_and_dark(e, "/", "leaderboard")
            self.quiet(two, narrow)

    def test_blog(self):
        with Example("blog") as e, e.server.connect() as c:
            one, two = self.browser.window(), self.browser.window()
            one.open(e.url + "/")
            one.until_text("main", "The foghorn is back")
            one.picture("blog")
            self.assertNotIn("New lamps", one.text("main"))
            one.follow(".pages a")
            one.until_text("main", "New lamps")
            one.open(e.url + "/tag/weather")
            one.until_text("main", "Reading a tide table")
            one.follow("article h2 a")
            one.until_text("h1", "First ice")
            two.open(e.url + "/post/ice")
            two.until_text(".comments", "Nobody has said anything yet")
            # What is being written stays while a comment of somebody else arrives.
            two.write("#text", "half a sentence")
            one.write("#name", "Ole <script>")
            one.write("#text", "It held.\nI walked on it.")
            one.follow("form button")
            for window in [one, two]:
                window.until_text(".comments li b", "Ole <script>")
                window.until_text(".comments p", "I walked on it.")
            self.assertEqual(two.value("document.querySelector('#text').value"), "half a sentence")
            self.assertEqual(two.value("document.activeElement.id"), "text")
            two.picture("blog-post")
            # A title changes, and the page with it, at once.
            c.command("HSET", "post:ice", "title", "Last ice")
            one.open(e.url + "/post/ice")
            self.assertEqual(one.text("h1"), "Last ice")
            feed = xml.etree.ElementTree.fromstring(urllib.request.urlopen(e.url + "/feed.xml").read())
            atom = "{http://www.w3.org/2005/Atom}"
            self.assertEqual(feed.find(f"{atom}entry/{atom}title").text, "The foghorn is back")
            one.open(e.url + "/post/none")
            one.until_text("h1", "Nothing here")
            narrow = self.narrow_and_dark(e, "/post/foghorn", "blog")
            self.quiet(two, narrow)

    def test_shop(self):
        with Example("shop") as e, e.server.connect() as c:
            one, two = self.browser.window(apart=True), self.browser.window(apart=True)
            one.open(e.url + "/")
            one.until_text(".goods", "Brass desk lamp")
            one.picture("shop")
            one.write(".search input", "la")
            one.follow(".search button")
            one.until_text("main", "3 found")
            one.follow(".goods a")
            two.open(e.url + "/product/lamp")
            two.until_text("[data-live=stock]", "3 in stock")
            one.open(e.url + "/product/lamp")
            one.write("#n", "2")
            one.follow("form.row button")
            one.until_text("tbody", "Brass desk lamp")
            one.until_text("tfoot", "98.00")
            one.picture("shop-cart")
            # The cart is another visitor's business; a second window of the same visitor sees it change.
            two.open(e.url + "/cart")
            two.until_text("main", "It is empty")
            two.open(e.url + "/product/lamp")
            cookie = one.call("Network.getCookies")["cookies"]
            self.assertTrue(len(cookie) == 1 and cookie[0]["httpOnly"] and len(cookie[0]["value"]) == 32, cookie)
            c.command("HSET", "product:lamp", "price", 5000)
            one.until_text("tfoot", "100.00")
            one.follow("form[action='/checkout'] button")
            one.until_text("h1", "Thank you")
            two.until_text("[data-live=stock]", "1 in stock")
            # There is not enough for another one who wants two.
            two.write("#n", "2")
            two.follow("form.row button")
            two.follow("form[action='/checkout'] button")
            two.until_text("[role=alert]", "not enough")
            two.follow("tbody button")
            two.until_text("main", "It is empty")
            c.command("HSET", "product:lamp", "stock", 0)
            one.open(e.url + "/product/lamp")
            one.until_text("[data-live=stock]", "sold out")
            self.assertFalse(one.value("document.querySelector('form.row').checkVisibility()"))
            one.picture("shop-product")
            narrow = self.narrow_and_dark(e, "/", "shop")
            self.quiet(one, two, narrow)

    def test_a_stream_comes_back(self):
        with Example("leaderboard") as e, e.server.connect() as c:
            window = self.browser.window()
            window.open(e.url + "/")
            window.until_text("tbody tr:first-child", "Ada")
            wait_until(lambda: c.exactly(int(c.command("CLIENT", "LIST")[1:]) + 2).count(b" addr=") > 1, "a stream")
            # The server ends all connections of browsers; what changes meanwhile is caught up with.
            c.command("CONFIG", "SET", "web-live-max", 0)
            for line in c.exactly(int(c.command("CLIENT", "LIST")[1:]) + 2).decode().splitlines():
                if "user=default" not in line and "addr=" in line:
                    c.command("CLIENT", "KILL", "ID", line.split("id=")[1].split(" ")[0])
            c.command("ZINCRBY", "board", 500, "Tony")
            c.command("CONFIG", "SET", "web-live-max", 100)
            window.until_text("tbody tr:first-child", "Tony")


if __name__ == "__main__":
    unittest.main()
