import pytest

from antiphon.upstream.probing.consent import is_free


@pytest.mark.parametrize(
    ("url", "dialect"),
    [
        ("http://127.0.0.1:11434/v1", "ollama"),
        ("http://localhost:8080/v1", "llamacpp"),
        ("http://[::1]:8000/v1", "vllm"),
        ("http://192.168.1.20:1234/v1", "lmstudio"),
        ("http://10.0.0.7:8000/v1", "generic"),
        ("http://[fd00::7]:8000/v1", "generic"),
        ("http://ollama:11434/v1", "ollama"),
        ("http://gpu.local:8000/v1", "vllm"),
        ("http://gpu.lan/v1", "generic"),
        ("http://vllm.default.svc.cluster.local:8000/v1", "vllm"),
        ("", "demo"),
    ],
)
def test_a_backend_nearby_is_free(url: str, dialect: str) -> None:
    assert is_free(url, dialect)


@pytest.mark.parametrize(
    ("url", "dialect"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://ollama.com/v1", "ollama"),
        ("https://models.example.com/v1", "generic"),
        ("http://8.8.8.8/v1", "vllm"),
        ("http://0.0.0.0/v1", "vllm"),
        ("http://127.0.0.1:4000/v1", "groq"),
        ("http://gpu.local.example.com/v1", "vllm"),
    ],
)
def test_a_service_and_a_public_address_may_cost_money(url: str, dialect: str) -> None:
    assert not is_free(url, dialect)
