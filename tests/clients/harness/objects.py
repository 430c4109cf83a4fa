"""The objects of a bucket (harness/bucket.py): listed, read and written with requests that are signed here."""

import hashlib
import hmac
import time
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime, timezone
from xml.etree import ElementTree


class Objects:
    """All objects of the bucket `name` at the address that `env` has, as a server gets it."""

    def __init__(self, env, name="topics"):
        self.env = env
        self.name = name

    def request(self, method, key="", query=(), body=b""):
        """One request with AWS's signature, version 4; the body of its answer."""
        env, hash = self.env, lambda data: hashlib.sha256(data).hexdigest()
        host = env["AWS_ENDPOINT_URL"].removeprefix("http://")
        path = "/" + urllib.parse.quote(f"{self.name}/{key}")
        query = "&".join(f"{n}={urllib.parse.quote(v, safe='')}" for n, v in sorted(query))
        now = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        headers = {"host": host, "x-amz-content-sha256": hash(body), "x-amz-date": now}
        names = ";".join(headers)
        lines = [method, path, query, *(f"{n}:{v}" for n, v in headers.items()), "", names, hash(body)]
        scope = f"{now[:8]}/{env['AWS_REGION']}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hash("\n".join(lines).encode())])
        key = b"AWS4" + env["AWS_SECRET_ACCESS_KEY"].encode()
        for part in [*scope.split("/"), text]:
            key = hmac.digest(key, part.encode(), "sha256")
        headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={env['AWS_ACCESS_KEY_ID']}/{scope}, "
                                    f"SignedHeaders={names}, Signature={key.hex()}")
        url = f"http://{host}{path}" + (f"?{query}" if query else "")
        request = urllib.request.Request(url, body or None, headers, method=method)
        for attempt in range(100):
            try:
                with urllib.request.urlopen(request) as answer:
                    return answer.read()
            except urllib.error.HTTPError as e:
                # The store's server listens before it has found its disk.
                if e.code != 503 or attempt == 99:
                    raise
                time.sleep(0.1)

    def keys(self):
        tree = ElementTree.fromstring(self.request("GET", query=[("list-type", "2")]))
        return [key.text for key in tree.iter() if key.tag.endswith("}Key")]

    def get(self, key):
        return self.request("GET", key)

    def put(self, key, data):
        self.request("PUT", key, body=data)
