"""Register, receive and verify a webhook, with a server that has `webhook_private_addresses = true`."""

from http.server import BaseHTTPRequestHandler, HTTPServer

from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        event = client.webhooks.unwrap(body, dict(self.headers.items()), secret=endpoint.signing_secret)
        if event.type == "response.completed":
            print(event.type, client.responses.retrieve(event.data.id).output_text)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *message: object) -> None:
        pass


with HTTPServer(("127.0.0.1", 0), Receiver) as server:
    endpoint = client.webhooks.create(
        name="my service", url=f"http://127.0.0.1:{server.server_port}/hook", event_types=["response.completed"]
    )
    client.responses.create(model="demo", input="Hello!", background=True)
    server.handle_request()

client.webhooks.delete(endpoint.id)
