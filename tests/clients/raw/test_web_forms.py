"""Forms of the web port: tokens against forged requests, signed cookies, bodies of many parts."""

import json
import os
import re
import tempfile
import unittest

from harness.server import beyond_redis
from raw.test_web import Web

FILES = {
    "routes": "GET / form.html\nGET /me me.html\nGET /plain plain.html\nPOST /save call:echo user=writer csrf=yes\n"
    "POST /echo call:echo user=writer\nPOST /login call:login user=writer\nPOST /logout call:logout user=writer\nPOST /bad call:bad user=writer\nPOST /again call:again user=writer csrf=yes\n",
    "templates/form.html": "<form method=post action=/save>{{ csrf_field() }}</form>{{ get('k') }}" + "x" * 2000,
    "templates/me.html": "{{ signed_cookies.user }}",
    "templates/plain.html": "{{ get('k') }}",
    "templates/again.html": "{{ csrf_token() }}",
    "templates/403.html": "no: {{ csrf_token() }}",
}
LIBRARY = """#!lua name=forms
redis.register_function('echo', function(keys, args) return '{"json":' .. args[1] .. '}' end)
redis.register_function('login', function(keys, args)
  local user = cjson.decode(args[1]).form.user
  return cjson.encode({body = 'ok', set_cookies = {user = {value = user, max_age = 60}, theme = {value = 'dark', signed = false}}})
end)
redis.register_function('logout', function() return '{"redirect": "/", "set_cookies": {"user": null}}' end)
redis.register_function('bad', function() return '{"body": "x", "set_cookies": {"a b": "x"}}' end)
redis.register_function('again', function() return '{"template": "again.html", "data": {}}' end)"""
FORM = {"Content_Type": "application/x-www-form-urlencoded"}


def setup(w, c):
    c.command("ACL", "SETUSER", "writer", "on", "nopass", "+@all")
    c.command("FUNCTION", "LOAD", LIBRARY)
    c.command("SET", "k", "v")


def token_of(answer):
    return re.search(rb'name="csrf_token" value="([0-9a-f]{64})"', answer[2]).group(1).decode()


def cookies(answer):
    return {c.split("=", 1)[0]: c for c in answer[1].get_all("Set-Cookie", [])}


def pair(cookie):
    return cookie.split(";")[0]


@beyond_redis
class TestTokens(unittest.TestCase):
    def test_a_form_needs_the_token_of_its_browser(self):
        with Web("--web-user", "", files=FILES) as w, w.connect() as c:
            setup(w, c)
            one, two = w.ask("/"), w.ask("/")
            cookie = cookies(one)["apus-csrf"]
            self.assertTrue(cookie.endswith("; Path=/; HttpOnly; SameSite=Lax"), cookie)
            self.assertEqual(one[1]["Cache-Control"], "no-store")
            self.assertNotEqual(token_of(one), token_of(two))
            mine, other = pair(cookie), pair(cookies(two)["apus-csrf"])
            # The same browser keeps its token, and gets no other cookie.
            again = w.ask("/", Cookie=mine)
            self.assertEqual((token_of(again), cookies(again)), (token_of(one), {}))

            def post(token, path="/save", **fields):
                return w.ask(path, "POST", f"a=b&csrf_token={token}", **FORM, **fields)

            good = post(token_of(one), Cookie=mine)
            self.assertEqual((good[0], json.loads(good[2])["form"]["a"]), (200, "b"))
            self.assertEqual(w.ask("/save", "POST", "", X_CSRF_Token=token_of(one), Cookie=mine)[0], 200)
            for fields in [{}, {"Cookie": other}, {"Cookie": "apus-csrf=x"}, {"Cookie": mine[:-1] + "g"}]:
                self.assertEqual(post(token_of(one), **fields)[0], 403, fields)
            for token in ["", "x", token_of(one)[:-1], token_of(two)]:
                self.assertEqual(post(token, Cookie=mine)[0], 403, token)
            # The check of the origin stays.
            self.assertEqual(post(token_of(one), Cookie=mine, Sec_Fetch_Site="cross-site")[0], 403)
            # A page that a function or an error asks for has tokens, too.
            self.assertEqual(post(token_of(one), "/again", Cookie=mine)[2].decode(), token_of(one))
            refused = post("x")
            self.assertIn("apus-csrf", cookies(refused))
            self.assertRegex(refused[2], rb"^no: [0-9a-f]{64}$")

    def test_pages_with_tokens_are_nobody_elses(self):
        with Web(files=FILES) as w, w.connect() as c:
            setup(w, c)
            c.command("CONFIG", "SET", "web-compression", "all")
            for _ in range(3):
                answer = w.ask("/", Accept_Encoding="gzip, br")
                # The size of a compressed page would tell of the token.
                self.assertEqual(answer[0], 200)
                self.assertIsNone(answer[1]["Content-Encoding"])
                self.assertIsNone(answer[1]["ETag"])

    def test_behind_a_proxy_with_tls_cookies_are_secure(self):
        with Web("--web-trusted-proxies", "127.0.0.1", files=FILES) as w:
            answer = w.ask("/", X_Forwarded_Proto="https")
            cookie = cookies(answer)["__Host-apus-csrf"]
            self.assertTrue(cookie.endswith("; Secure"), cookie)
            fields = {"Cookie": pair(cookie), "X_CSRF_Token": token_of(answer)}
            self.assertEqual(w.ask("/save", "POST", "", **fields)[0], 403)
            with w.connect() as c:
                setup(w, c)
            self.assertEqual(w.ask("/save", "POST", "", X_Forwarded_Proto="https", **fields)[0], 200)

    def test_restarts_and_servers_with_the_secret_agree(self):
        with tempfile.TemporaryDirectory() as at:
            with Web("--dir", at, files=FILES) as w, w.connect() as c:
                setup(w, c)
                login = cookies(w.ask("/login", "POST", "user=eve", **FORM))["user"]
            secret = os.path.join(at, "web-secret")
            self.assertEqual(os.stat(secret).st_mode & 0o777, 0o600)
            with Web("--dir", at, files=FILES) as w:
                self.assertEqual(w.ask("/me", Cookie=pair(login))[2], b"eve")
            with open(secret, encoding="utf-8") as f:
                text = f.read().strip()
            protected = ["--enable-protected-configs", "yes"]
            with Web("--web-secret", "n" * 32 + " " + text, *protected, files=FILES) as w, w.connect() as c:
                self.assertEqual(w.ask("/me", Cookie=pair(login))[2], b"eve")
                self.assertEqual(c.command("CONFIG", "SET", "web-secret", "n" * 32), b"+OK")
                self.assertEqual(w.ask("/me", Cookie=pair(login))[2], b"")
                self.assertTrue(c.command("CONFIG", "SET", "web-secret", "short").startswith(b"-ERR"))


@beyond_redis
class TestCookies(unittest.TestCase):
    def test_functions_sign_cookies(self):
        with Web(files=FILES) as w, w.connect() as c:
            setup(w, c)
            set_by = cookies(w.ask("/login", "POST", "user=eve%20%C3%A9", **FORM))
            self.assertEqual(set_by["theme"], "theme=dark; Path=/; SameSite=Lax; HttpOnly")
            self.assertRegex(set_by["user"], r"^user=eve%20%C3%A9\.[0-9a-f]+\.[0-9a-f]{64}; .*; Max-Age=60; HttpOnly$")
            user = pair(set_by["user"])
            self.assertEqual(w.ask("/me", Cookie="theme=dark; " + user)[2].decode(), "eve é")
            asked = json.loads(w.ask("/echo", "POST", "", Cookie="theme=dark; " + user)[2])
            self.assertEqual(asked["signed_cookies"], {"user": "eve é"})
            self.assertEqual(asked["cookies"]["theme"], "dark")
            name, value = user.split("=", 1)
            for bad in [f"admin={value}", f"{name}=adm{value[3:]}", user[:-1] + "g", "user=eve", user.replace(".", ".f", 1)]:
                self.assertEqual(w.ask("/me", Cookie=bad)[2], b"", bad)
            self.assertIn("user=; Path=/; SameSite=Lax; Max-Age=0", cookies(w.ask("/logout", "POST", ""))["user"])
            self.assertEqual(w.ask("/bad", "POST", "")[0], 500)


@beyond_redis
class TestParts(unittest.TestCase):
    def test_fields_and_files_come_to_the_function(self):
        with Web(files=FILES) as w, w.connect() as c:
            setup(w, c)
            kind = "multipart/form-data; boundary=----B"
            head = '------B\r\nContent-Disposition: form-data; name="'
            body = (
                f'{head}t"\r\n\r\nh€\r\n{head}f"; filename="a;b.txt"\r\nContent-Type: text/plain\r\n\r\nline\r\n\r\n'.encode()
                + f'{head}g"; filename="b"\r\n\r\n'.encode()
                + b"\xff\x00\r\n------B--\r\n"
            )
            asked = json.loads(w.ask("/echo", "POST", body, Content_Type=kind)[2])
            self.assertEqual((asked["form"], asked["body"]), ({"t": "h€"}, ""))
            first = {"name": "f", "filename": "a;b.txt", "type": "text/plain", "size": 6, "text": "line\r\n"}
            second = {"name": "g", "filename": "b", "type": "text/plain", "size": 2, "base64": "/wA="}
            self.assertEqual(asked["files"], [first, second])
            for bad in [body[:-5], b"", b"x" + body, body.replace(b"form-data;", b"attachment;")]:
                self.assertEqual(w.ask("/echo", "POST", bad, Content_Type=kind)[0], 400, bad)
            self.assertEqual(w.ask("/echo", "POST", body, Content_Type="multipart/form-data")[0], 400)
            many = f'{head}a"\r\n\r\n\r\n'.encode() * 1001 + b"------B--"
            self.assertEqual(w.ask("/echo", "POST", many, Content_Type=kind)[0], 400)
            # The token is found in a form of parts, too.
            page = w.ask("/")
            part = f'{head}csrf_token"\r\n\r\n{token_of(page)}\r\n------B--\r\n'.encode()
            fields = {"Content_Type": kind, "Cookie": pair(cookies(page)["apus-csrf"])}
            self.assertEqual(w.ask("/save", "POST", part, **fields)[0], 200)
            self.assertEqual(w.ask("/save", "POST", body, **fields)[0], 403)


if __name__ == "__main__":
    unittest.main()
