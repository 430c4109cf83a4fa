"""Users and their permissions, with redis-py."""

import redis
from protocols import both_protocols, newer_than_7_0
from redis.backoff import NoBackoff
from redis.retry import Retry


@both_protocols
class Acl:
    def setUp(self):
        super().setUp()
        self.set("alice", reset=True, passwords=["+secret"])
        self.addCleanup(self.r.acl_deluser, "alice", "bob")

    def set(self, name, **rules):
        # redis-py switches a user off unless the call enables it.
        self.r.acl_setuser(name, enabled=True, **rules)

    def alice(self):
        return self.client(username="alice", password="secret")

    def test_what_a_user_may_do(self):
        self.set("alice", categories=["+@read"], commands=["+acl|whoami"], keys=["a:*"])
        alice = self.alice()
        self.assertEqual(alice.acl_whoami(), "alice")
        self.assertIsNone(alice.get("a:1"))
        with self.assertRaises(redis.exceptions.NoPermissionError):
            alice.get("b")
        with self.assertRaises(redis.exceptions.NoPermissionError):
            alice.set("a:1", "x")
        self.assertEqual(self.r.acl_dryrun("alice", "get", "a:1"), "OK")
        self.assertIn("b", self.r.acl_dryrun("alice", "get", "b"))

    def test_users_are_described(self):
        self.set(
            "alice",
            nopass=True,
            categories=["-@all", "+@string"],
            commands=["-set"],
            keys=["a:*"],
            channels=["news"],
            selectors=[("+get", "%R~b:*")],
        )
        user = self.r.acl_getuser("alice")
        self.assertIn("nopass", user["flags"])
        self.assertEqual(user["passwords"], [])
        self.assertTrue(user["enabled"])
        self.assertEqual(list(user["categories"]), ["-@all", "+@string"])
        self.assertEqual(list(user["commands"]), ["-set"])
        self.assertEqual(user["keys"], ["~a:*"])
        self.assertEqual(user["channels"], ["&news"])
        self.assertIsNone(self.r.acl_getuser("nobody"))
        self.assertEqual(sorted(self.r.acl_users()), ["alice", "default"])
        self.assertTrue(self.r.acl_list()[0].startswith("user alice on nopass"))

    def test_categories_and_passwords(self):
        self.assertIn("dangerous", self.r.acl_cat())
        self.assertIn("get", self.r.acl_cat("read"))
        self.assertEqual(len(self.r.acl_genpass()), 64)
        self.assertEqual(len(self.r.acl_genpass(5)), 2)
        with self.assertRaises(redis.exceptions.ResponseError):
            self.r.acl_genpass(0)

    def test_a_wrong_password_is_logged(self):
        self.r.acl_log_reset()
        once = self.client(retry=Retry(NoBackoff(), 0))
        for _ in range(2):
            with self.assertRaises(redis.exceptions.AuthenticationError):
                once.execute_command("AUTH", "alice", "wrong")
        log = self.r.acl_log()
        self.assertEqual(len(log), 1, log)
        entry = log[0]
        self.assertEqual((entry["count"], entry["reason"]), (2, "auth"))
        self.assertEqual(entry["username"], "alice")
        self.assertTrue(self.r.acl_log_reset())
        self.assertEqual(self.r.acl_log(), [])

    def test_a_deleted_user_is_cut_off(self):
        self.set("alice", commands=["+ping", "+subscribe"], channels=["*"])
        alice = self.alice()
        with alice.client() as one:
            self.assertTrue(one.ping())
            self.assertEqual(self.r.acl_deluser("alice"), 1)
            self.assertNotIn("alice", [c["user"] for c in self.r.client_list()])
            with self.assertRaises(redis.exceptions.RedisError):
                one.ping()

    def test_a_transaction_with_a_forbidden_command_does_nothing(self):
        self.set(
            "alice", commands=["+multi", "+exec", "+set", "+watch", "+unwatch", "+get"], keys=["*"]
        )
        with self.alice().pipeline() as p:
            p.watch("k")
            p.multi()
            p.set("k", "v").get("k")
            self.set("alice", commands=["-get"])
            with self.assertRaises(redis.exceptions.ResponseError):
                p.execute()
        self.assertIsNone(self.r.get("k"))

    @newer_than_7_0
    def test_lists_show_rules_as_they_were_given(self):
        self.set("bob", categories=["+@all", "-@dangerous"], keys=["k"])
        lines = {line.split()[1]: line for line in self.r.acl_list()}
        self.assertEqual(
            lines["bob"],
            "user bob on sanitize-payload ~k resetchannels +@all -@dangerous",
        )
