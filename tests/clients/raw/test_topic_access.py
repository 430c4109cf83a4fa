"""Access to topics: users and passwords over RESP and HTTP, pages in browsers, other machines."""

import base64
import http.client
import json
import unittest

from harness.ports import free_port, own_address
from harness.server import PATIENCE_S, Server, beyond_redis


class Topics:
    """A server with both HTTP ports."""

    def __init__(self, *options):
        self.http, self.admin = free_port(), free_port()
        ports = ["--http-port", self.http, "--admin-port", self.admin]
        self.server = Server(*ports, *options)
        self.connect = self.server.connect

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.close()

    def ask(self, method, path, user=None, body=b"", headers=(), host="127.0.0.1", admin=False):
        """Status, headers and body of the answer; `user` is "name:password"."""
        connection = http.client.HTTPConnection(host, self.admin if admin else self.http, timeout=PATIENCE_S)
        headers = dict(headers)
        if user is not None:
            headers["Authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, answer.headers, text

    def status(self, *args, **named):
        return self.ask(*args, **named)[0]


def whole(c, *args):
    """A whole reply of strings, numbers and arrays."""
    return reply_of(c, c.command(*args))


def reply_of(c, line):
    kind, rest = line[:1], line[1:]
    if kind == b"*" and rest != b"-1":
        return [reply_of(c, c.line()) for _ in range(int(rest))]
    if kind == b"%":
        return {reply_of(c, c.line()): reply_of(c, c.line()) for _ in range(int(rest))}
    if kind == b"$" and rest != b"-1":
        return c.exactly(int(rest) + 2)[:-2]
    return line


def log_of(c):
    """ACL LOG as (reason, object, user), the newest first."""
    entries = []
    for entry in whole(c, "ACL", "LOG"):
        fields = dict(zip(entry[::2], entry[1::2]))
        entries.append(tuple(fields[k].decode() for k in (b"reason", b"object", b"username")))
    return entries


@beyond_redis
class OverResp(unittest.TestCase):
    def test_key_patterns_hold_for_topics(self):
        with Server() as server, server.connect() as c, server.connect() as u:
            self.assertEqual(c.command("TOPIC.APPEND", "other", "RECORDS", "x"), b":0")
            self.assertEqual(c.command("TOPIC.APPEND", "app.logs", "RECORDS", "x"), b":0")
            rules = "on >p ~app:* ~app.* resetchannels +@all".split()
            self.assertEqual(c.command("ACL", "SETUSER", "u", *rules), b"+OK")
            self.assertEqual(u.command("AUTH", "u", "p"), b"+OK")
            denied = b"-NOPERM No permissions to access a key"
            for command in [
                ("TOPIC.APPEND", "other", "RECORDS", "y"),
                ("TOPIC.APPEND", "new", "RECORDS", "y"),
                ("TOPIC.CREATE", "new"),
                ("TOPIC.READ", "other", "0"),
                ("TOPIC.READ", "other", "LATEST", "BLOCK", "1"),
                ("TOPIC.SET", "other", "sync", "no"),
                ("TOPIC.INFO", "other"),
                ("TOPIC.COMMIT", "other", "g", "0"),
                ("TOPIC.COMMITTED", "other", "g"),
                ("TOPIC.GROUPS", "other"),
                ("TOPIC.DELETE", "other"),
            ]:
                self.assertEqual(u.command(*command), denied, command)
                self.assertEqual(log_of(c)[0][0], "key", command)
            self.assertEqual(log_of(c)[0], ("key", "other", "u"))
            self.assertEqual(whole(u, "TOPIC.LIST"), [b"app.logs"])
            self.assertEqual(u.command("TOPIC.APPEND", "app.logs", "RECORDS", "y"), b":1")
            self.assertEqual(u.command("TOPIC.CREATE", "app.more"), b"+OK")
            self.assertEqual(u.command("TOPIC.DELETE", "app.more"), b"+OK")
            self.assertEqual(whole(c, "TOPIC.LIST"), [b"app.logs", b"other"])

    def test_reading_and_writing_are_apart(self):
        with Server() as server, server.connect() as c, server.connect() as r, server.connect() as w:
            self.assertEqual(c.command("TOPIC.APPEND", "t", "RECORDS", "x"), b":0")
            for name, pattern in [("r", "%R~t"), ("w", "%W~t")]:
                self.assertEqual(c.command("ACL", "SETUSER", name, "on", ">p", pattern, "+@topic"), b"+OK")
            self.assertEqual(r.command("AUTH", "r", "p"), b"+OK")
            self.assertEqual(w.command("AUTH", "w", "p"), b"+OK")
            denied = b"-NOPERM No permissions to access a key"
            self.assertEqual(whole(r, "TOPIC.READ", "t", "0"), [b":0", [b"x"]])
            self.assertEqual(whole(r, "TOPIC.LIST"), [b"t"])
            for command in [
                ("TOPIC.APPEND", "t", "RECORDS", "y"),
                ("TOPIC.COMMIT", "t", "g", "0"),
                ("TOPIC.SET", "t", "sync", "no"),
                ("TOPIC.DELETE", "t"),
            ]:
                self.assertEqual(r.command(*command), denied, command)
            self.assertEqual(w.command("TOPIC.APPEND", "t", "RECORDS", "y"), b":1")
            self.assertEqual(w.command("TOPIC.COMMIT", "t", "g", "1"), b"+OK")
            self.assertEqual(w.command("TOPIC.READ", "t", "0"), denied)
            self.assertEqual(w.command("TOPIC.INFO", "t"), denied)
            self.assertEqual(whole(w, "TOPIC.LIST"), [])

    def test_topics_have_a_category_of_their_own(self):
        with Server() as server, server.connect() as c:
            topics = set(whole(c, "ACL", "CAT", "topic"))
            self.assertEqual(len(topics), 10)
            self.assertIn(b"topic.append", topics)
            self.assertFalse(topics & set(whole(c, "ACL", "CAT", "stream")))
            reads, writes = set(whole(c, "ACL", "CAT", "read")), set(whole(c, "ACL", "CAT", "write"))
            self.assertEqual(
                topics & reads,
                {b"topic.read", b"topic.info", b"topic.list", b"topic.committed", b"topic.groups"},
            )
            self.assertEqual(topics & writes, topics - reads)
            self.assertEqual(whole(c, "COMMAND", "GETKEYS", "TOPIC.APPEND", "t", "RECORDS", "x"), [b"t"])
            self.assertEqual(c.command("ACL", "SETUSER", "s", "on", ">p", "~*", "+@stream"), b"+OK")
            for command in ["TOPIC.APPEND t RECORDS x", "TOPIC.READ t 0", "TOPIC.DELETE t", "TOPIC.LIST"]:
                reply = whole(c, "ACL", "DRYRUN", "s", *command.split())
                self.assertIn(b"has no permissions to run", reply, command)

    def test_a_reader_that_waits_is_checked_again(self):
        with Server() as server, server.connect() as c, server.connect() as u:
            self.assertEqual(c.command("TOPIC.APPEND", "t", "RECORDS", "x"), b":0")
            self.assertEqual(c.command("ACL", "SETUSER", "u", "on", ">p", "~t", "+@all"), b"+OK")
            self.assertEqual(u.command("AUTH", "u", "p"), b"+OK")
            self.assertEqual(u.command("CLIENT", "ID")[:1], b":")
            u.send(b"TOPIC.READ t 1 BLOCK 0\r\n")
            while b"cmd=topic.read" not in whole(c, "CLIENT", "LIST"):
                pass
            self.assertEqual(c.command("ACL", "SETUSER", "u", "resetkeys"), b"+OK")
            self.assertEqual(c.command("TOPIC.APPEND", "t", "RECORDS", "secret"), b":1")
            self.assertEqual(u.line(), b"-NOPERM No permissions to access a key")


@beyond_redis
class OverHttp(unittest.TestCase):
    def test_there_is_no_port_unless_one_is_named(self):
        with Server() as server, server.connect() as c:
            self.assertEqual(whole(c, "CONFIG", "GET", "topic-http-port"), [b"topic-http-port", b"0"])
            self.assertFalse([line for line in server.log if "Topics on http" in line])
        with Topics() as t, t.connect() as c:
            port = str(t.http).encode()
            self.assertEqual(whole(c, "CONFIG", "GET", "topic-http-port"), [b"topic-http-port", port])
            self.assertEqual(whole(c, "CONFIG", "GET", "http-port"), [b"http-port", port])
            self.assertEqual(t.status("GET", "/v1/topics"), 200)

    def test_a_password_is_asked_for(self):
        with Topics("--requirepass", "secret") as t, t.connect() as c:
            self.assertEqual(c.command("AUTH", "secret"), b"+OK")
            for path in ["/v1/topics", "/v1/openapi.json", "/topic?topic-name=t", "/nowhere"]:
                status, headers, text = t.ask("GET", path)
                self.assertEqual(status, 401, path)
                self.assertRegex(headers["WWW-Authenticate"], "^Basic realm=")
                self.assertIn("Authentication required", text)
            self.assertEqual(t.status("POST", "/v1/topics/t/records", body=b"x"), 401)
            for wrong in ["default:wrong", ":", "nobody:secret", "default:"]:
                self.assertEqual(t.status("GET", "/v1/topics", wrong), 401, wrong)
            self.assertEqual(log_of(c)[0], ("auth", "topic-http-port", "default"))
            for bad in ["Basic x", "Basic", "Bearer secret", "secret"]:
                self.assertEqual(t.status("GET", "/v1/topics", headers={"Authorization": bad}), 401, bad)
            for right in ["default:secret", ":secret"]:
                self.assertEqual(t.status("GET", "/v1/topics", right), 200, right)
            # The password counts from its setting to its removal.
            self.assertEqual(c.command("CONFIG", "SET", "requirepass", ""), b"+OK")
            self.assertEqual(t.status("GET", "/v1/topics"), 200)
            self.assertEqual(c.command("ACL", "SETUSER", "default", "off"), b"+OK")
            self.assertEqual(t.status("GET", "/v1/topics"), 401)

    def test_a_user_may_do_over_http_what_they_may_over_resp(self):
        with Topics() as t, t.connect() as c:
            self.assertEqual(c.command("TOPIC.APPEND", "other", "RECORDS", "x"), b":0")
            for name, rules in {
                "app": "~app.* +@all",
                "reader": "%R~app.* +@topic",
                "streams": "~* +@stream",
            }.items():
                self.assertEqual(c.command("ACL", "SETUSER", name, "on", ">p", *rules.split()), b"+OK")
            forms = {"Content-Type": "multipart/form-data; boundary=x"}
            form = (
                b'--x\r\nContent-Disposition: form-data; name="sizes"\r\n\r\n[1]\r\n'
                b'--x\r\nContent-Disposition: form-data; name="records"\r\n\r\na\r\n--x--\r\n'
            )
            for method, path, body, headers in [
                ("GET", "/v1/topics/other", b"", {}),
                ("PUT", "/v1/topics/new", b"", {}),
                ("PATCH", "/v1/topics/other", b"{}", {}),
                ("DELETE", "/v1/topics/other", b"", {}),
                ("POST", "/v1/topics/other/records", b"x", {}),
                ("POST", "/v1/topics/new/records", b"x", {}),
                ("POST", "/v1/topics/other/batches", b"x", {}),
                ("GET", "/v1/topics/other/records", b"", {}),
                ("HEAD", "/v1/topics/other/records", b"", {}),
                ("GET", "/v1/topics/other/batches", b"", {}),
                ("GET", "/v1/topics/other/records/0", b"", {}),
                ("GET", "/v1/topics/%6fther/records/0", b"", {}),
                ("GET", "/v1/topics/other/tail?wait=1ms", b"", {}),
                ("GET", "/v1/topics/other/groups", b"", {}),
                ("GET", "/v1/topics/other/groups/g", b"", {}),
                ("PUT", "/v1/topics/other/groups/g", b'{"offset":0}', {}),
                ("DELETE", "/v1/topics/other/groups/g", b"", {}),
                ("POST", "/records?topic-name=other", form, forms),
                ("GET", "/records?topic-name=other&offset=0&timeout=1ms", b"", {}),
                ("GET", "/record?topic-name=other&offset=0", b"", {}),
                ("GET", "/record?topic-name=%6fther&offset=0", b"", {}),
                ("GET", "/topic?topic-name=other", b"", {}),
            ]:
                for user in ["app:p", "streams:p"]:
                    self.assertEqual(c.command("ACL", "LOG", "RESET"), b"+OK")
                    status, _, text = t.ask(method, path, user, body, headers)
                    self.assertEqual(status, 403, (method, path, user))
                    self.assertIn("permissions" if method != "HEAD" else "", text)
                    self.assertEqual(len(log_of(c)), 1, (method, path, user))
            self.assertEqual(whole(c, "TOPIC.LIST"), [b"other"])
            self.assertEqual(t.status("POST", "/v1/topics/app.logs/records", "app:p", b"one"), 201)
            self.assertEqual(t.ask("GET", "/v1/topics/app.logs/records/0", "reader:p")[2], "one")
            self.assertEqual(t.status("POST", "/v1/topics/app.logs/records", "reader:p", b"two"), 403)
            self.assertEqual(log_of(c)[0], ("key", "app.logs", "reader"))
            listed = lambda user: json.loads(t.ask("GET", "/v1/topics", user)[2])["topics"]
            self.assertEqual(listed("app:p"), ["app.logs"])
            self.assertEqual(listed("reader:p"), ["app.logs"])
            self.assertEqual(listed("streams:p"), [])
            self.assertEqual(listed(None), ["app.logs", "other"])
            # The default user has rules, too.
            self.assertEqual(c.command("ACL", "SETUSER", "default", "-topic.delete"), b"+OK")
            self.assertEqual(t.status("DELETE", "/v1/topics/other"), 403)

    def test_a_reader_that_waits_is_checked_again(self):
        with Topics() as t, t.connect() as c:
            self.assertEqual(c.command("TOPIC.APPEND", "t", "RECORDS", "x"), b":0")
            self.assertEqual(c.command("ACL", "SETUSER", "u", "on", ">p", "~t", "+@all"), b"+OK")
            headers = {"Authorization": "Basic " + base64.b64encode(b"u:p").decode()}
            tail = http.client.HTTPConnection("127.0.0.1", t.http, timeout=PATIENCE_S)
            tail.request("GET", "/v1/topics/t/tail?offset=0", headers=headers)
            answer = tail.getresponse()
            self.assertIn(b'"value":"x"', answer.readline())
            self.assertEqual(c.command("ACL", "SETUSER", "u", "resetkeys"), b"+OK")
            self.assertEqual(c.command("TOPIC.APPEND", "t", "RECORDS", "secret"), b":1")
            rest = answer.read()
            self.assertIn(b"No permissions", rest)
            self.assertNotIn(b"secret", rest)
            tail.close()

    def test_a_key_and_passwords_side_by_side(self):
        with Topics("--http-api-key", "sesame") as t, t.connect() as c:
            self.assertEqual(c.command("ACL", "SETUSER", "u", "on", ">p", "~app.*", "+@all"), b"+OK")
            self.assertEqual(c.command("ACL", "SETUSER", "anybody", "on", "nopass", "~*", "+@all"), b"+OK")
            bearer = lambda key: {"Authorization": key}
            self.assertEqual(t.status("GET", "/v1/topics"), 401)
            for key in ["Bearer sesame", "sesame", "bearer sesame"]:
                self.assertEqual(t.status("GET", "/v1/topics", headers=bearer(key)), 200, key)
            self.assertEqual(t.status("GET", "/v1/topics", headers=bearer("Bearer p")), 401)
            self.assertEqual(t.status("PUT", "/v1/topics/app.x", "u:p"), 201)
            self.assertEqual(t.status("PUT", "/v1/topics/other", "u:p"), 403)
            # A user without a password is no way around the key.
            for user in ["anybody:x", "default:x", ":"]:
                self.assertEqual(t.status("GET", "/v1/topics", user), 401, user)
            # The key acts as the default user.
            self.assertEqual(c.command("ACL", "SETUSER", "default", "-topic.delete"), b"+OK")
            self.assertEqual(t.status("DELETE", "/v1/topics/app.x", headers=bearer("sesame")), 403)

    def test_pages_of_other_sites(self):
        with Topics() as t, t.connect() as c:
            # With the credentials that a browser remembers, too.
            self.assertEqual(c.command("ACL", "SETUSER", "u", "on", ">p", "~*", "+@all"), b"+OK")
            cross = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
            evil = {"Origin": "http://evil.example"}
            for user in [None, "u:p"]:
                for headers in [evil, {"Origin": "null"}, cross, {"Host": "evil.example"}]:
                    for admin, path in [(False, "/v1/topics"), (True, "/metrics")]:
                        status, _, text = t.ask("GET", path, user, headers=headers, admin=admin)
                        self.assertEqual(status, 403, headers)
                        self.assertIn("http-allowed-", text)
                self.assertEqual(t.status("POST", "/v1/topics/t/records", user, b"x", evil), 403)
            self.assertEqual(whole(c, "TOPIC.LIST"), [])
            self.assertEqual(t.status("OPTIONS", "/v1/topics", headers=evil), 403)
            allowed = {"Origin": "https://app.example"}
            self.assertEqual(t.status("GET", "/v1/topics", headers=allowed), 403)
            self.assertEqual(c.command("CONFIG", "SET", "http-allowed-origins", "https://app.example"), b"+OK")
            status, headers, _ = t.ask("GET", "/v1/topics", headers=allowed)
            self.assertEqual((status, headers["Access-Control-Allow-Origin"]), (200, "https://app.example"))
            asks = {"Access-Control-Request-Method": "POST", **allowed}
            status, headers, _ = t.ask("OPTIONS", "/v1/topics/t/records", headers=asks)
            self.assertEqual(status, 204)
            self.assertIn("Authorization", headers["Access-Control-Allow-Headers"])
            self.assertEqual(t.status("GET", "/v1/topics", headers=evil), 403)
            named = {"Host": "apus.example:80"}
            self.assertEqual(t.status("GET", "/v1/topics", headers=named), 403)
            self.assertEqual(c.command("CONFIG", "SET", "http-allowed-hosts", "apus.example"), b"+OK")
            self.assertEqual(t.status("GET", "/v1/topics", headers=named), 200)
            self.assertEqual(t.status("GET", "/metrics", headers=named, admin=True), 200)

    def test_protected_mode(self):
        address = own_address()
        if address is None:
            self.skipTest("this machine has loopback addresses only")
        with Topics("--http-bind", "0.0.0.0", "--admin-bind", "0.0.0.0") as t, t.connect() as c:
            t.server.wait_for_log("topic-http-bind is open to other machines")
            t.server.wait_for_log("admin-bind is open to other machines")
            doors = [(False, "/v1/topics"), (True, "/metrics")]
            for admin, path in doors:
                status, _, text = t.ask("GET", path, host=address, admin=admin)
                self.assertEqual(status, 403)
                self.assertIn("Protected mode", text)
                self.assertEqual(t.status("GET", path, "default:x", host=address, admin=admin), 403)
                self.assertEqual(t.status("GET", path, admin=admin), 200)
            self.assertEqual(t.status("GET", "/healthz", host=address, admin=True), 200)
            self.assertEqual(c.command("CONFIG", "SET", "requirepass", "x"), b"+OK")
            for admin, path in doors:
                self.assertEqual(t.status("GET", path, host=address, admin=admin), 401)
                self.assertEqual(t.status("GET", path, ":x", host=address, admin=admin), 200)


@beyond_redis
class AdminPort(unittest.TestCase):
    def test_a_password_is_asked_for(self):
        with Topics("--requirepass", "secret") as t, t.connect() as c:
            self.assertEqual(c.command("AUTH", "secret"), b"+OK")
            for path in ["/healthz", "/readyz"]:
                self.assertEqual(t.status("GET", path, admin=True), 200, path)
            self.assertEqual(c.command("ACL", "SETUSER", "monitor", "on", ">p", "+info"), b"+OK")
            for path in ["/metrics", "/debug/heap", "/debug/topkeys", "/debug/profile?seconds=1", "/", "/no"]:
                status, headers, _ = t.ask("GET", path, admin=True)
                self.assertEqual(status, 401, path)
                self.assertRegex(headers["WWW-Authenticate"], "^Basic realm=")
                self.assertEqual(t.status("GET", path, "monitor:q", admin=True), 401, path)
            self.assertEqual(log_of(c)[0], ("auth", "admin-port", "monitor"))
            self.assertEqual(t.status("GET", "/metrics", "monitor:p", admin=True), 200)
            self.assertEqual(t.status("GET", "/debug/heap", ":secret", admin=True), 200)
            for path, command in [("topkeys", "apus.topkeys"), ("profile", "latency|doctor")]:
                self.assertEqual(t.status("GET", f"/debug/{path}", "monitor:p", admin=True), 403)
                self.assertEqual(log_of(c)[0], ("command", command, "monitor"))


if __name__ == "__main__":
    unittest.main()
