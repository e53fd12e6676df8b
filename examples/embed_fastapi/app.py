"""A FastAPI application that calls a model in its own routes, and also serves the Responses API below `/ai`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel

import antiphon
from antiphon import AntiphonError, AsyncAntiphon, ScriptedBackend, types

MODEL = "demo"  # for example qwen3:8b
# The base URL of your model server, such as "http://127.0.0.1:11434/v1". None means the model demo.
BACKEND: str | None = None


class Question(BaseModel):
    text: str
    previous: str | None = None


class Answer(BaseModel):
    id: str
    text: str


def create_app(backend: str | ScriptedBackend | None = BACKEND, store: str = "sqlite:///~/embed-fastapi.db") -> FastAPI:
    """Return the application. A test passes a backend and a store of its own."""
    api = antiphon.asgi(backend=backend, store=store)
    client = AsyncAntiphon(backend=backend, store=store)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with api.lifespan(), client:
            yield

    app = FastAPI(lifespan=lifespan)
    app.mount("/ai", api)

    @app.exception_handler(AntiphonError)
    async def failed(request: Request, error: AntiphonError) -> JSONResponse:
        """Return an error of the model or of the request with its status, in the form of the Responses API."""
        return JSONResponse({"error": error.body()}, error.status_code, error.headers)

    @app.post("/ask")
    async def request(question: Question) -> Answer:
        """Answer a question, and continue the conversation of `previous`."""
        response = await client.responses.create(
            model=MODEL, instructions="Be brief.", input=question.text, previous_response_id=question.previous
        )
        return Answer(id=response.id, text=response.output_text)

    @app.post("/stream")
    async def stream(question: Question) -> StreamingResponse:
        """Send the text of the answer while the model writes it."""

        async def texts() -> AsyncIterator[str]:
            async with client.responses.stream(model=MODEL, input=question.text) as events:
                async for event in events:
                    if isinstance(event, types.ResponseTextDeltaEvent):
                        yield event.delta

        return StreamingResponse(texts(), media_type="text/plain")

    return app


app = create_app()
