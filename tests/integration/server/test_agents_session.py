"""The Agents SDK's own session keeps its turns in our conversations."""

from agents import Agent, OpenAIConversationsSession, OpenAIResponsesModel, RunConfig, Runner

from tests.support.replay import ReplayBackend
from tests.support.server import RunningServer

QUIET = RunConfig(tracing_disabled=True)


async def test_a_session_remembers(stateful: RunningServer, backend: ReplayBackend) -> None:
    agent = Agent(name="a", model=OpenAIResponsesModel(model="m", openai_client=stateful.sdk))
    session = OpenAIConversationsSession(openai_client=stateful.sdk)
    for stated in ("one", "two"):
        await Runner.run(agent, stated, session=session, run_config=QUIET)
    popped = await session.pop_item()
    items = await session.get_items()

    assert [m["content"] for m in backend.requests[-1]["messages"]] == [
        "one",
        "You said: one",
        "two",
    ]
    assert popped is not None
    assert [item.get("role") for item in items] == ["user", "assistant", "user"]
    await session.clear_session()


async def test_a_conversation_is_named_by_its_id(
    stateful: RunningServer, backend: ReplayBackend
) -> None:
    agent = Agent(name="a", model=OpenAIResponsesModel(model="m", openai_client=stateful.sdk))
    conversation = await stateful.sdk.conversations.create()
    for stated in ("one", "two"):
        result = Runner.run_streamed(
            agent, stated, conversation_id=conversation.id, run_config=QUIET
        )
        async for _ in result.stream_events():
            pass

    assert [m["content"].strip() for m in backend.requests[-1]["messages"]] == [
        "one",
        "You said: one",
        "two",
    ]
