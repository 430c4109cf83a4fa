"""Files that earlier versions have written load, and hold what they held: see tests/formats/make.py."""

import importlib.util
import json
import os
import unittest

from harness.bucket import MINIO
from harness.server import beyond_redis

FORMATS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "formats")


def maker():
    spec = importlib.util.spec_from_file_location("make", os.path.join(FORMATS, "make.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@beyond_redis
class Formats(unittest.TestCase):
    def test_files_of_every_version_hold_what_they_held(self):
        make = maker()
        versions = [v for v in os.listdir(FORMATS) if os.path.isdir(os.path.join(FORMATS, v))]
        versions = [v for v in versions if not v.startswith("__")]
        self.assertTrue(versions)
        for version in versions:
            with open(os.path.join(FORMATS, version, "replies.json")) as file:
                expected = json.load(file)
            for name, (_, _, reads) in make.SERVERS.items():
                with self.subTest(version=version, files=name):
                    if name == "objects" and not MINIO:
                        self.skipTest("MINIO names no server of an object store")
                    replies = make.replay(name, os.path.join(FORMATS, version, name))
                    for question, reply, wanted in zip(reads, replies, expected[name], strict=True):
                        self.assertEqual(reply, wanted, question)
