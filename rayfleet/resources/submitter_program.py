"""The program of a submitter: Python's own library and, where the image has it, Ray's client to follow the logs.

It holds no dollar sign: Kubernetes expands `$(NAME)` in arguments. Its exit code says whether the job was submitted and followed to its
end; how the job ended is Ray's word.
"""

from __future__ import annotations

PROGRAM = '''
import asyncio, json, os, signal, sys, time, urllib.error, urllib.request

signal.signal(signal.SIGTERM, lambda *_: os._exit(143))  # the first process of a container ends by no signal that it does not handle
base = "http://" + os.environ["RAY_DASHBOARD_ADDRESS"]
job = os.environ["RAY_JOB_SUBMISSION_ID"]
body = json.dumps(json.loads(os.environ["RAYFLEET_SUBMISSION"])).encode()
session = os.environ.get("RAYFLEET_RAY_SESSION", "")
token = os.environ.get("RAY_AUTH_TOKEN", "")
headers = {"Content-Type": "application/json", **({"x-ray-authorization": "Bearer " + token} if token else {})}
ENDED = ("SUCCEEDED", "FAILED", "STOPPED")
direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(path, data=None):
    """(status, text); status 0: no answer."""
    try:
        with direct.open(urllib.request.Request(base + path, data, headers), timeout=30) as answer:
            return answer.status, answer.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode("utf-8", "replace")
    except OSError as error:
        return 0, str(error)


def said(path, data=None):
    """The same, and what Ray says; whoever says something else with a 200 is not Ray."""
    status, text = ask(path, data)
    try:
        found = json.loads(text) if status == 200 else {}
    except ValueError:
        found = None
    return (status, text, found) if isinstance(found, dict) else (0, "no answer of Ray: " + text, {})


def submit():
    told = ""
    while True:
        status, text, found = said("/api/version")
        if status == 200 and session and found.get("session_name", session) != session:
            sys.exit("Ray began anew after job " + job + " was to be submitted; it is not submitted a second time")
        if status == 200:
            status, text, found = said("/api/jobs/" + job)
            if found.get("status") in ("PENDING", "RUNNING", *ENDED):
                return
            if status == 404:
                status, text, found = said("/api/jobs/", body)
                if status == 200 or "already exists" in text:
                    print("submitted", job, flush=True)
                    return
                if 400 <= status < 500 and status not in (401, 403, 404, 408, 425, 429):
                    sys.exit("Ray refuses the job: " + text)
        if text != told:
            print("waiting for Ray:", text[-500:], flush=True)
            told = text
        time.sleep(2)


async def logs():
    from ray.job_submission import JobSubmissionClient

    async for lines in JobSubmissionClient(base).tail_job_logs(job):
        print(lines, end="", flush=True)


def follow():
    try:
        asyncio.run(logs())
    except Exception as error:
        print("the logs cannot be followed:", error, flush=True)
    silent = 0
    while silent < 30:
        status, text, found = said("/api/jobs/" + job)
        if status == 404:
            sys.exit("Ray knows of no job " + job)
        if found.get("status") in ENDED:
            print(job, found["status"], flush=True)
            return
        silent = 0 if status == 200 else silent + 1
        time.sleep(2)
    sys.exit("Ray no longer answers: " + text)


submit()
follow()
'''.lstrip()
