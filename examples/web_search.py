"""Search the web, with a server that has a search provider (`ANTIPHON_WEB_SEARCH=http://127.0.0.1:8888`)."""

from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8321/v1", api_key="none")

response = client.responses.create(
    model="demo",
    input='When is high water in the harbour of Brest?\ncall web_search {"query": "high water Brest"}',
    tools=[{"type": "web_search", "search_context_size": "low"}],
    include=["web_search_call.action.sources"],
)
for item in response.output:
    if item.type == "web_search_call":
        action = item.action
        if action.type == "search":
            print("It searched for", action.query, "and found", len(action.sources or ()))
        elif action.type == "open_page":
            print("It opened", action.url)
    elif item.type == "message":
        for part in item.content:
            if part.type == "output_text":
                print(part.text)
                for citation in part.annotations:
                    if citation.type == "url_citation":
                        print("Cited:", citation.title, citation.url)
