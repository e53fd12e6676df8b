from antiphon.runs.prompt_memory import PromptMemory
from antiphon.translation.to_chat_completions.reuse import fingerprint
from tests.support.parts import target

PROMPT = fingerprint({"messages": [{"role": "user", "content": "Hi"}]})
M = target()


def test_a_prompt_is_found_under_each_of_its_chains_by_its_own_tenant() -> None:
    memory = PromptMemory()
    memory.put("a", M, ["one", "two"], PROMPT)
    assert memory.find("a", M, ["none", "two"]) == PROMPT
    assert memory.find("a", M, ["none"]) is None
    assert memory.find("b", M, ["one"]) is None
    assert memory.find("a", target("vllm"), ["one"]) == PROMPT


def test_each_model_of_a_backend_has_prompts_of_its_own() -> None:
    memory = PromptMemory()
    other = target()
    other.model = "n"
    memory.put("a", M, ["one"], PROMPT)
    assert memory.find("a", other, ["one"]) is None
