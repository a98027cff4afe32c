"""A minimal client of viewgate.v1, written from docs/protocol.md: one live view, folded commit by commit, resumed from its cursor.

    async for change in LiveView(url, token, "overdrawn", "3").follow():
        print(change.sequence, len(change.view.records))

Needs `websockets` (Debian: python3-websockets) and nothing else. Numbers keep their digits: integers are exact, others are Decimal.
"""

import asyncio
import dataclasses
import json
import random
import time
import urllib.error
import urllib.parse
import urllib.request
from decimal import Decimal

import websockets

SUBPROTOCOL = "viewgate.v1"
NEVER = {1002, 1003, 1007, 1009, 4000, 4003, 4005, 4010}  # close codes that are decisions
AUTH_REQUIRED = 4001  # the close code for a token that the server does not take
LARGEST_MESSAGE = 64 * 1024 * 1024
SETTLED = 10.0  # seconds after `ready`: what ends a connection then is the first break in a row


class Refused(Exception):
    """The server will not: `code` is the error's, or the close code. `connection`: what the server's log calls it, where it is known."""

    def __init__(self, code, message, connection=None):
        super().__init__(f"{code}: {message}")
        self.code, self.connection = code, connection


class TokenRefused(Refused):
    """A fresh token was refused, and the one that was asked for after it, too. Whoever has a better one calls `follow` again."""


class Misfit(Exception):
    """What came does not fit the set, so the set is read anew. A fold that does not fit is never papered over."""


@dataclasses.dataclass
class Change:
    """One commit, or a set that was read anew (`replaced`). Keys are JSON text, as in `LiveView.records`."""

    view: "LiveView"
    sequence: int
    replaced: bool
    entered: list
    updated: list
    left: list
    deleted: list
    at: str = None  # the commit's time: RFC 3339 in UTC


def loads(text):
    return json.loads(text, parse_float=Decimal)


def key_text(key):
    return json.dumps(key, separators=(",", ":"), default=str, ensure_ascii=False)


class LiveView:
    """`token` is a function that gives a fresh token. `records`: key text → record, as they stand at `sequence`."""

    def __init__(self, url, token, view, space, params=None):
        self.url, self.token = url, token
        self.subscription = {"type": "subscribe", "space": space, "view": view, "params": params or {}}
        self.records, self.sequence = {}, 0
        self.context = self.position = None
        self._attempts = self._refused_tokens = 0
        self._ready_at = None
        self._wait = None

    @property
    def cursor(self):
        """Belongs to exactly the set in `records`: whoever stores one stores both, in one step."""
        return f"{self.context}.{self.position}" if self.position is not None else None

    async def follow(self):
        """Yields every change, for ever, through broken connections. Raises Refused where coming back is no use."""
        while True:
            try:
                async for change in self._connection():
                    yield change
            except Misfit:
                self.position = None
            except (OSError, asyncio.TimeoutError, websockets.InvalidHandshake):
                pass
            except websockets.ConnectionClosed as closed:
                if closed.code in NEVER:
                    raise Refused(closed.code, closed.reason) from closed
                if closed.code == AUTH_REQUIRED:
                    self._token_refused(closed)
            await asyncio.sleep(self._delay())

    def _token_refused(self, closed):
        """The first may have ended on its way."""
        self._refused_tokens += 1
        if self._refused_tokens > 1:
            self._refused_tokens = 0
            raise TokenRefused(closed.code, closed.reason) from closed

    def _delay(self):
        told, self._wait = self._wait, None
        ready_at, self._ready_at = self._ready_at, None
        if ready_at is not None and time.monotonic() - ready_at >= SETTLED:
            self._attempts = 0
        high = min(30.0, 2.0**self._attempts)
        self._attempts += 1
        return told if told is not None else random.uniform(high / 2, high)

    async def _connection(self):
        options = {"subprotocols": [SUBPROTOCOL], "max_size": LARGEST_MESSAGE, "ping_interval": None, "open_timeout": 20}
        async with websockets.connect(self.url, **options) as socket:
            await self._send(socket, {"type": "hello", "protocol": 1, "token": self.token()})
            silence = 20.0
            self._staging, self._parts, self._channel = None, [], None
            while True:
                message = await asyncio.wait_for(socket.recv(), silence)
                for line in filter(None, message.split("\n")):
                    document = loads(line)
                    if document["type"] == "welcome":
                        silence = 2 * document["heartbeat"]
                        self._refused_tokens = 0
                        cursor = {"cursor": self.cursor} if self.cursor else {}
                        await self._send(socket, {**self.subscription, "id": "view", **cursor})
                    elif document["type"] == "ping":
                        await self._send(socket, {"type": "pong"})
                    elif document["type"] == "notice" and document["kind"] == "auth_expiring":
                        await self._send(socket, {"type": "refresh", "token": self.token()})
                    else:
                        change = self._take(document)
                        if change is not None:
                            yield change

    @staticmethod
    async def _send(socket, message):
        await socket.send(json.dumps(message, default=str))

    def _take(self, document):
        """What one document changes, if it changes anything. Types that are not known are passed over."""
        kind = document["type"]
        if kind == "drain":
            self._wait = document["reconnect_after"] / 1000
        elif kind == "error" and document.get("id") == "view":
            self._refused(document)
        elif kind == "unsubscribed":
            raise Refused(document["reason"], "the view was ended")
        elif kind == "reset_required":
            return self._reset(document["reason"])
        elif kind == "subscribed":
            self._channel, self.context, self._parts = document["channel"], document["context"], []
            self._staging = None if document.get("resumed", False) else {}
        elif document.get("channel") != self._channel:
            return None
        elif kind == "snapshot":
            self._staging.update((key_text(each["key"]), each["record"]) for each in document["records"])
        elif kind == "ready":
            self._ready_at = time.monotonic()
            return self._ready(document)
        elif kind == "progress":
            self.sequence, self.position = int(document["sequence"]), document["position"]
        elif kind == "commit":
            return self._commit(document)
        return None

    def _reset(self, reason):
        """A snapshot follows by itself and replaces the set; parts of a commit that was not whole are void."""
        self.position, self._parts, self._channel = None, [], None
        if reason != "authorization_changed" or not self.records:
            return None
        # Maybe they may not be seen any more: they are not kept until the new ones are there.
        gone, self.records = list(self.records), {}
        return Change(self, self.sequence, True, [], [], gone, [])

    def _refused(self, error):
        if error["code"] == "cursor_invalid":
            raise Misfit(error["message"])
        if "retry_after" not in error:
            raise Refused(error["code"], error["message"], error.get("connection"))
        self._wait = error["retry_after"] / 1000
        raise OSError(error["message"])

    def _ready(self, document):
        self.sequence, self.position = int(document["sequence"]), document["position"]
        if self._staging is None:
            return None
        before, self.records, self._staging = self.records, self._staging, None
        entered = [key for key in self.records if key not in before]
        updated = [key for key in self.records if key in before and before[key] != self.records[key]]
        return Change(self, self.sequence, True, entered, updated, [key for key in before if key not in self.records], [])

    def _commit(self, document):
        """Parts are kept aside; with the last one the whole commit is checked, and then applied."""
        self._parts += document["events"]
        if not document.get("last", True):
            return None
        events, self._parts = self._parts, []
        sequence = int(document["sequence"])
        change = Change(self, sequence, False, [], [], [], [], document.get("at"))
        lists = {"entered": change.entered, "updated": change.updated, "removed_from_scope": change.left, "deleted": change.deleted}
        for event in events:
            key = key_text(event["key"])
            if sequence <= self.sequence or (event["kind"] == "entered") == (key in self.records):
                raise Misfit(f"commit {sequence}: {event['kind']} {key}")
            lists[event["kind"]].append(key)
        for event in events:
            key = key_text(event["key"])
            if event["kind"] == "entered":
                self.records[key] = event["record"]
            elif event["kind"] == "updated":
                self.records[key] = {**self.records[key], **event["changed"]}
            else:
                del self.records[key]
        self.sequence, self.position = sequence, document["position"]
        return change


def mutate(origin, token, space, client, number, mutations):
    """Writes over HTTP and gives the receipt. The same call again, with the same number, has no second effect and the same receipt."""
    body = json.dumps({"client": client, "number": str(number), "mutations": mutations}, default=str).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{origin}/v1/spaces/{urllib.parse.quote(space, safe='')}/mutations", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return loads(answer.read().decode())["receipts"][0]
    except urllib.error.HTTPError as error:
        refused = loads(error.read().decode() or "{}")  # a refusal of the door itself has no document, only a name
        code = refused.get("code", refused.get("error", error.code))
        raise Refused(code, refused.get("message", error.reason), error.headers.get("X-Request-Id")) from error
