import pytest

from antiphon.errors import ConfigError
from antiphon.translation.dialects.dialect import EFFORTS
from antiphon.translation.dialects.table import DIALECTS, find_dialect


@pytest.mark.parametrize(
    ("url", "owned_by", "server", "name"),
    [
        ("https://api.openai.com/v1", {"system", "openai"}, "cloudflare", "openai"),
        ("https://eu.api.openai.com/v1", set(), "", "openai"),
        ("https://me.openai.azure.com/openai/v1", set(), "", "azure"),
        ("https://api.groq.com/openai/v1", {"Meta", "OpenAI"}, "cloudflare", "groq"),
        ("https://api.deepseek.com/v1", {"deepseek"}, "", "deepseek"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", {"google"}, "", "gemini"),
        ("https://acme.snowflakecomputing.com/api/v2/cortex/v1", set(), "", "snowflake"),
        ("https://adb-1.azuredatabricks.net/serving-endpoints", set(), "databricks", "databricks"),
        ("https://api.anthropic.com", set(), "", "messages"),
        ("http://127.0.0.1:11434/v1", {"library"}, "", "ollama"),
        ("http://gpu.example:9999/v1", {"library"}, "", "ollama"),
        ("http://gpu.example:9999/v1", {"vllm"}, "uvicorn", "vllm"),
        ("http://gpu.example:9999/v1", {"sglang"}, "uvicorn", "sglang"),
        ("http://127.0.0.1:8000/v1", {"llamacpp"}, "llama.cpp", "llamacpp"),
        ("http://127.0.0.1:8080/v1", set(), "llama.cpp", "llamacpp"),
        ("http://127.0.0.1:1234/v1", set(), "", "lmstudio"),
        ("http://127.0.0.1:8000/v1", set(), "", "vllm"),
        ("http://127.0.0.1:9/v1", {"somebody"}, "nginx", "generic"),
        ("https://notapi.openai.com.example/v1", set(), "", "generic"),
        ("", set(), "", "demo"),
    ],
)
def test_the_family_is_detected_by_host_then_server_then_owner_then_port(
    url, owned_by, server, name
):
    assert find_dialect(url, owned_by, server, None).name == name


def test_the_configuration_has_the_last_word():
    assert find_dialect("https://api.openai.com/v1", set(), "", "generic").name == "generic"


def test_an_unknown_name_in_the_configuration_is_answered_with_the_known_ones():
    with pytest.raises(ConfigError) as caught:
        find_dialect("http://x/v1", set(), "", "gpt")

    assert all(name in str(caught.value) for name in DIALECTS)


def test_no_sign_points_to_two_families():
    for signs in ("hosts", "ports", "owners", "servers"):
        listed = [sign for row in DIALECTS.values() for sign in getattr(row, signs)]
        assert len(listed) == len(set(listed)), signs


def test_rows_are_coherent():
    for row in DIALECTS.values():
        assert row.efforts <= set(EFFORTS)
        assert not row.reasoning_required or row.reasoning
        assert row.file_part or not row.file_urls
        assert "store" not in row.accepts
        assert "metadata" not in row.accepts


def test_nothing_learned_leaves_the_row_as_it_is():
    assert DIALECTS["openai"].taught(frozenset()) is DIALECTS["openai"]


@pytest.mark.parametrize(
    ("name", "lessons", "column", "value"),
    [
        ("openai", {"max_completion_tokens"}, "max_tokens", "max_tokens"),
        ("generic", {"max_tokens"}, "max_tokens", "max_completion_tokens"),
        ("generic", {"max_tokens", "max_completion_tokens"}, "max_tokens", ""),
        ("openai", {"reasoning_effort"}, "effort", ""),
        ("deepseek", {"thinking"}, "effort", ""),
        ("openrouter", {"reasoning"}, "effort", ""),
        ("openrouter", {"messages.reasoning"}, "effort", "reasoning"),
        ("openrouter", {"messages.reasoning"}, "replay", "never"),
        ("deepseek", {"messages.reasoning_content"}, "reasoning_required", False),
        ("gemini", {"+reasoning_content"}, "reasoning", "reasoning_content"),
        ("gemini", {"+reasoning_content"}, "replay", "tool_turns"),
        ("gemini", {"+reasoning_content"}, "reasoning_required", True),
        ("openai", {"strict"}, "strict", False),
        ("ollama", {"tools"}, "tools", "prompt"),
        ("ollama", {"temperature"}, "tools", "native"),
    ],
)
def test_a_lesson_changes_the_row(name, lessons, column, value):
    assert getattr(DIALECTS[name].taught(frozenset(lessons)), column) == value


def test_a_refused_parameter_is_no_longer_accepted():
    assert "temperature" not in DIALECTS["openai"].taught(frozenset({"temperature"})).accepts
