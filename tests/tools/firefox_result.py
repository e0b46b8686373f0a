#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""firefox_result.py FIREFOX PAGE SECONDS: opens a page in Firefox without a
screen, and prints the text of the element `result` that a script of the page
makes, and the milliseconds from the start of the browser. Firefox cannot print a
document, so a copy of the page sends the text to a server here."""
import http.server
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

REPORT = """<script>
new Image().src = "/result?" + encodeURIComponent(document.getElementById("result").textContent);
</script></body></html>"""
SETTINGS = {
    "browser.shell.checkDefaultBrowser": "false",
    "browser.startup.homepage_override.mstone": '"ignore"',
    "datareporting.policy.dataSubmissionEnabled": "false",
    "toolkit.telemetry.reportingpolicy.firstRun": "false",
    "network.captive-portal-service.enabled": "false",
}


def main():
    firefox, path, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    with open(path, encoding="utf-8") as file:
        page = file.read().replace("</body></html>", REPORT).encode()
    results = []
    arrived = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            kind, _, text = self.path.partition("?")
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            if kind == "/result":
                results.append(urllib.parse.unquote(text))
                arrived.set()
            elif kind == "/":
                self.wfile.write(page)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as profile:
        with open(os.path.join(profile, "user.js"), "w", encoding="utf-8") as file:
            for name, value in SETTINGS.items():
                file.write(f'user_pref("{name}", {value});\n')
        browser = subprocess.Popen(
            [firefox, "--headless", "--no-remote", "--profile", profile,
             f"http://127.0.0.1:{server.server_port}/"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": profile})
        arrived.wait(seconds)
        took = time.monotonic() - start
        browser.terminate()
        try:
            browser.wait(20)
        except subprocess.TimeoutExpired:
            browser.kill()
            browser.wait()
    if not results:
        sys.exit(f"Firefox showed no result within {seconds:g} s")
    print(results[0], f"({took * 1000:.0f} ms)")


if __name__ == "__main__":
    main()
