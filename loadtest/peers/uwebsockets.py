"""A uWebSockets server, by its Python bindings, that gives what is posted to /pub to all who are connected to /sub.
Per message the work is the library's; Python is called once.

  python3 uwebsockets.py PORT
"""

import sys

from socketify import App, AppListenOptions, OpCode

app = App()
app.ws("/sub", {"compression": 0, "max_backpressure": 256 << 20, "idle_timeout": 960,
                "open": lambda socket: socket.subscribe("one")})


def publish(response, request):
    body = []

    def take(response, part, is_last):
        body.append(part or b"")
        if is_last:  # answered in the same turn, so that requests may follow one another without waiting
            app.publish("one", b"".join(body), OpCode.TEXT)
            response.end("")

    response.on_data(take)


app.post("/pub", publish)
app.listen(AppListenOptions(port=int(sys.argv[1]), host="127.0.0.1"))
app.run()
