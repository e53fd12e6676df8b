"""The API inside your own ASGI application, here under `/ai`: clients take `http://127.0.0.1:9000/ai/v1`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from antiphon.application import build
from antiphon.config import BackendConfig, Settings
from antiphon.server.application import create_app

SETTINGS = Settings(backends=[BackendConfig(url="http://127.0.0.1:11434/v1")], store="sqlite://")


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    house = await build(SETTINGS)
    house.start()
    app.mount("/ai", create_app(house.engine, house.endpoints))
    yield
    await house.close()


async def home(request: Request) -> PlainTextResponse:
    return PlainTextResponse("The application's own page.")


app = Starlette(routes=[Route("/", home)], lifespan=lifespan)

if __name__ == "__main__":
    uvicorn.run(app, port=9000)
