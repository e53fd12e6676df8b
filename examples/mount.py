"""Serve the API inside your ASGI application below `/ai`: the base URL is `http://127.0.0.1:9000/ai/v1`."""

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

import antiphon

api = antiphon.asgi(backend="http://127.0.0.1:11434/v1", store="sqlite://")


async def home(request: Request) -> PlainTextResponse:
    return PlainTextResponse("The application's own page.")


# With FastAPI: FastAPI(lifespan=api.lifespan), then app.mount("/ai", api).
app = Starlette(routes=[Route("/", home), Mount("/ai", api)], lifespan=api.lifespan)

if __name__ == "__main__":
    uvicorn.run(app, port=9000)
