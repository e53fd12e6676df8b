"""Every setting, with its type, its default and its meaning.

`docs/reference/settings.md` is generated from this module: the text below a field is the setting's
description, in Markdown with links relative to that page, and a comment such as `# --- Server ---`
starts a group of settings.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from antiphon.config.models import ModelConfig, PromptConfig, ReservedTokens


class BackendConfig(Struct, kw_only=True, forbid_unknown_fields=True):
    """One backend. Its key is never part of the settings: `key_env` names the environment variable that holds it.

    >>> from antiphon import BackendConfig
    >>> BackendConfig(url="http://127.0.0.1:8000/v1", name="gpu", aliases={"fast": "qwen3-4b"}).weight
    1.0
    """  # noqa: E501 - a table, a diagram or an example

    url: str
    """Base URL of the backend, usually ending in `/v1`."""
    name: str = ""
    """Unique name of the backend. It is used in logs, metrics and error messages. Default: the host
    and port, which clients never see; clients then see a name such as `backend-1`.
    """
    key_env: str = ""
    """Environment variable that holds the API key of the backend; empty if the backend needs no
    key. A key is never read from the settings file or the command line.
    """
    dialect: str = ""
    """[Dialect](dialects.md) of the backend: the differences between its API and OpenAI's. Default:
    detected from the URL and the list of models.
    """
    api: Literal["auto", "chat", "responses", "messages", "ollama"] = "auto"
    """API with which Antiphon [calls the
    backend](../operate/route-across-backends.md#use-backends-with-a-responses-api): `chat` for Chat
    Completions, `responses` for the backend's own Responses API, `messages` for Anthropic's
    [Messages API](../guides/use-claude-as-a-backend.md), `ollama` for Ollama's [native
    API](../guides/run-local-models.md#ollama). `auto` chooses by the [dialect](dialects.md), or
    checks what the backend supports.
    """
    num_ctx: Annotated[int, Meta(ge=1024, le=2**31 - 1)] = 65_536
    """Largest context window, in tokens, with which Ollama loads a model through its [native
    API](../guides/run-local-models.md#ollama)."""
    keep_alive: str = ""
    """How long Ollama keeps a model in memory after a response, through its native API: a duration
    such as `30m`, a number of seconds, or `-1` to keep it permanently. Empty: Ollama's own default.
    """
    models: list[str] | Literal["*"] = field(default_factory=list)
    """Models that the backend serves. `"*"`: every model that no other backend serves. Default: the
    models that the backend lists.
    """
    aliases: dict[str, str] = field(default_factory=dict)
    """Table of other names for models: each key is a name that clients use, each value is the name
    of the model at this backend.
    """
    weight: Annotated[float, Meta(gt=0, le=1000)] = 1.0
    """Share of the requests that this backend receives, relative to the other backends that serve
    the same model.
    """
    concurrency: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    """Maximum number of concurrent requests from each process to this backend; 0 for no limit."""
    queue: Annotated[int, Meta(ge=0, le=1_000_000)] = 100
    """Maximum number of requests that wait for this backend when `concurrency` is reached. Antiphon
    rejects further requests immediately.
    """
    tenant_concurrency: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    """Maximum number of concurrent requests of one tenant from each process to this backend; 0 for
    the value of `concurrency`. [When to set
    it](../operate/route-across-backends.md#balance-load-between-backends).
    """
    cache: bool = False
    """Whether to [cache](../guides/cache-responses.md) the responses of this backend and reuse them
    for identical requests.
    """
    cache_salt: bool = False
    """Whether to send each tenant's requests with a `cache_salt` of its own, so that vLLM [shares
    no cached prompts between tenants](../guides/reuse-prompt-caches.md#keep-tenants-apart).
    """
    passthrough: list[str] | None = None
    """Names of [parameters outside the Responses API](parameters.md#parameters-of-local-servers)
    that Antiphon forwards to the backend, such as `["top_k", "min_p"]`; `[]` for none. Default: the
    parameters of its [dialect](dialects.md).
    """
    check_answers: bool | None = None
    """Whether to [check and correct](../guides/repair-model-output.md) the output of the backend's
    models. Default: depends on the [dialect](dialects.md).
    """
    plain_retry: bool = True
    """Whether Antiphon sends a request that the backend refuses without a known reason [once more
    in its plainest form](dialects.md#refusals-without-a-known-reason).
    """
    connect_timeout: Annotated[float, Meta(gt=0)] | None = None
    """The setting [`connect_timeout`](#connect_timeout), for this backend only."""
    first_byte_timeout: Annotated[float, Meta(gt=0)] | None = None
    """The setting [`first_byte_timeout`](#first_byte_timeout), for this backend only."""
    idle_timeout: Annotated[float, Meta(gt=0)] | None = None
    """The setting [`idle_timeout`](#idle_timeout), for this backend only."""
    ca_file: str = ""
    """PEM file with the certificate authorities to trust. Default: those of the system. See [TLS
    and proxies](../operate/route-across-backends.md#use-tls-and-proxies).
    """
    client_cert: str = ""
    """PEM file with the client certificate that Antiphon presents to the backend."""
    client_key: str = ""
    """PEM file with the private key of `client_cert`, without a password. Empty if the certificate
    file contains the key.
    """
    proxy: str = ""
    """URL of an HTTP proxy for connections to this backend, without a password; `none` to connect
    directly. Default: the proxy in `HTTPS_PROXY` or `HTTP_PROXY`.
    """


class McpServerConfig(Struct, kw_only=True, forbid_unknown_fields=True):
    """One MCP server: a URL, or a program on this machine. Credentials stay in environment variables.

    >>> from antiphon import McpServerConfig, Settings
    >>> tickets = McpServerConfig(label="tickets", url="https://tickets.example/mcp", key_env="TICKETS_KEY")
    >>> settings = Settings(mcp_servers=[tickets])
    """  # noqa: E501 - a table, a diagram or an example

    label: str
    """Name that requests use for the server, in `server_label`: 1 to 64 letters, digits, `_` and
    `-`.
    """
    url: str = ""
    """URL of the server, such as `https://example.com/mcp`. Private networks are allowed. Empty for
    a program.
    """
    command: str = ""
    """Program to start instead of connecting to a URL. It communicates over standard input and
    output.
    """
    args: list[str] = field(default_factory=list)
    """Arguments of the program."""
    env: list[str] = field(default_factory=list)
    """Names of the environment variables to pass to the program, in addition to `PATH`, `HOME` and
    similar ones. Each variable must be set.
    """
    transport: Literal["auto", "http", "sse"] = "auto"
    """Transport to the URL: `http` for Streamable HTTP, `sse` for the older HTTP with server-sent
    events. `auto` tries Streamable HTTP first, and uses the older transport if the server supports
    nothing else.
    """
    key_env: str = ""
    """Environment variable with the key, which is sent as a bearer token; empty if the server needs
    no key.
    """
    connector: str = ""
    """The `connector_id` of requests for which this server is used."""
    description: str = ""
    """Description of the server for the model."""
    timeout: Annotated[float, Meta(gt=0, le=3600)] | None = None
    """The setting [`mcp_tool_timeout`](#mcp_tool_timeout), for this server only."""


class Settings(Struct, kw_only=True, forbid_unknown_fields=True):
    """Every setting of the server. Times are in seconds.

    >>> from antiphon import BackendConfig, Settings
    >>> fast, large = BackendConfig(url="http://gpu-a:8000/v1"), BackendConfig(url="http://gpu-b:8000/v1")
    >>> settings = Settings(backends=[fast, large], fallback={"large": ["fast"]}, store="sqlite:///~/answers.db")
    """

    # --- Server ---

    host: str = "127.0.0.1"
    """Address to listen on. The server refuses to start on an address that other machines can reach
    until the store contains an [API key](../operate/keys-and-budgets.md).
    """
    port: Annotated[int, Meta(ge=0, le=65535)] = 8321
    """Port to listen on; 0 chooses a free port."""
    workers: Annotated[int, Meta(ge=1, le=256)] = 1
    """Number of processes that serve the port. They share all state through the store."""
    grace: Annotated[float, Meta(ge=0, le=3600)] = 30.0
    """Seconds that responses in progress have to finish after SIGTERM."""
    websocket: bool = True
    """Whether `/v1/responses` accepts WebSocket connections. If false, the server rejects an
    upgrade with 426, and clients use HTTP.
    """
    allowed_hosts: list[str] = field(default_factory=list)
    """[Host names](../operate/deploy.md#allow-hosts-and-browser-origins) that clients can use in
    addition to those of this machine, without a port; `*` allows every name. If the list is empty
    and `host` is not a loopback address, every name is allowed. The variable holds them separated
    by spaces or commas.
    """
    allowed_origins: list[str] = field(default_factory=list)
    """Origins of [web pages](../operate/deploy.md#allow-hosts-and-browser-origins) that can send
    requests from a browser, such as `https://app.example.com`; `*` allows every origin. The
    variable holds them separated by spaces or commas.
    """

    # --- Limits of requests ---

    max_responses: Annotated[int, Meta(ge=0, le=1_000_000)] = 2_000
    """Maximum number of responses that each process generates at the same time for requests with an
    [API key](../operate/keys-and-budgets.md), [shared](../why/fair-sharing.md) between tenants: one
    tenant alone uses at most 80 % of them. The same number of requests can wait; the server rejects
    further requests with 503. An open stream uses 45 kB of memory, so 2,000 streams use 90 MB. 0
    means no limit.
    """
    max_connections: Annotated[int, Meta(ge=1, le=1_000_000)] = 10_000
    """Maximum number of client connections to each process, or half the number of files that the
    process can open, if that is smaller. The server rejects further connections with 503. One
    tenant alone uses at most [80 %](../why/fair-sharing.md) of them.
    """
    max_body: Annotated[int, Meta(ge=1024, le=2**40)] = 32 * 1024 * 1024
    """Maximum size in bytes of a request body after decompression, or of a WebSocket message."""
    max_bodies: Annotated[int, Meta(ge=1024, le=2**40)] = 512 * 1024 * 1024
    """Maximum memory in bytes that each process uses for clients: requests and histories in
    progress ([three to eight times their bytes](../why/fair-sharing.md#how-memory-is-counted) from
    64 KiB on), replies of 64 KiB or more that clients have not read yet, waiting WebSocket
    messages, and unstored responses that WebSocket connections remember. Above this limit, the
    server rejects a request with 503, a background response waits, and a request that would not fit
    into an idle server is rejected with 413. One tenant uses at most about 80 %.
    """
    max_connection_bytes: Annotated[int, Meta(ge=1024, le=2**40)] = 128 * 1024 * 1024
    """Maximum number of bytes of `max_bodies` that one WebSocket connection uses; the server
    rejects further messages with 429. The value must be at least `max_body`. The default has room
    for four of the largest messages; a context of a million tokens is about 4 MB of text.
    """
    max_items: Annotated[int, Meta(ge=1, le=10_000_000)] = 20_000
    """Maximum number of items in the `input` of a request; a larger input is rejected with 400. A
    million tokens of an agent's session are about 6,000 items (reasoning, call and output of each
    step). A client that stores nothing, such as Codex, sends all of them with each request.
    """
    max_history_items: Annotated[int, Meta(ge=1, le=10_000_000)] = 20_000
    """Maximum number of stored items that one turn loads from a chain of responses or a
    conversation. A request with a longer history is rejected with 400 `context_length_exceeded`,
    before anything is loaded and before the model is called.
    """
    max_history_bytes: Annotated[int, Meta(ge=1024, le=2**40)] = 64 * 1024 * 1024
    """Maximum size in bytes of the stored items that one turn loads. A million tokens are about 4
    MB of text; the rest is room for about 200 screenshots. A history uses about four times its size
    in memory during the request.
    """
    max_conversation_items: Annotated[int, Meta(ge=1, le=10_000_000)] = 20_000
    """Maximum number of items in a conversation; a request that would add more is rejected with
    400. Each turn loads all of them, so a value above `max_history_items` has no effect on turns:
    they fail first.
    """
    max_conversation_bytes: Annotated[int, Meta(ge=1024, le=2**40)] = 64 * 1024 * 1024
    """Maximum size in bytes of the items in a conversation; a request that would add more is
    rejected with 400.
    """

    # --- Store and retention ---

    store: str = "sqlite:///~/.local/share/antiphon/antiphon.db"
    """Database that stores all state: `sqlite:///absolute/path`, `sqlite:///~/path/in/your/home`,
    `postgresql://user@host/database`, or `sqlite://` for memory only. A new SQLite file is readable
    by its owner only. Set the password of PostgreSQL in `PGPASSWORD` or `~/.pgpass` rather than in
    the URL. Antiphon displays neither it nor the user.
    """
    store_connections: Annotated[int, Meta(ge=2, le=1000)] = 10
    """Maximum number of connections that each process opens to PostgreSQL, plus one to listen for
    notifications.
    """
    retention_days: Annotated[int, Meta(ge=1, le=36_500)] = 30
    """Days after which a stored response or chat completion expires. The time counts from its
    creation, with the value of the setting at that moment. The server deletes expired data every
    minute.
    """
    purge_fraction: Annotated[float, Meta(gt=0, le=1)] = 0.2
    """Fraction of the stored responses and chat completions that one purge can delete. A purge of
    more than this fraction, and of more than 1,000 of them, deletes nothing, because the clock or
    `retention_days` may be wrong. The log, `antiphon status` and the metric `antiphon_purge_held`
    report it until you run `antiphon purge --yes`.
    """
    facts: bool = True
    """Whether to store facts about each response for `retention_days`: status, model, backend,
    times, tokens, tools, error, and for stored responses the first 160 characters of the input and
    the output. `GET /v1/responses` and `antiphon responses` list them. Deleting a response deletes
    these characters; the numbers stay. If false, nothing is stored and the list stays empty.
    """
    max_stored_bytes: Annotated[int, Meta(ge=0, le=2**60)] = 0
    """Maximum number of bytes that a tenant can store; 0 for no limit. Responses and conversations
    count with their items and event logs, chat completions with their messages, files and container
    files with their content, background jobs with their requests, and the stored replies for an
    `Idempotency-Key` count too. When a tenant reaches the limit, requests that would store more are
    rejected with 429 before a model is called. [How far a tenant can exceed
    it](../why/fair-sharing.md#how-exact-the-storage-quota-is). `GET /v1/usage` shows a tenant how
    much it has stored; `antiphon status` shows the ten tenants that have stored most.
    """
    seal_keys: list[str] = field(default_factory=list)
    """[Keys that encrypt](../operate/deploy.md#set-sealing-keys) `encrypted_content`, each 32 bytes
    in base64. The first key encrypts, and all keys decrypt. The server adds a key at the end of the
    list, which it generates once and keeps in the store. The variable holds the keys separated by
    spaces or commas.
    """
    strict_seals: bool = False
    """Whether to reject a request with an `encrypted_content` that cannot be decrypted. If false,
    Antiphon omits the item from the prompt.
    """

    # --- Background responses ---

    background_jobs: Annotated[int, Meta(ge=0, le=100_000)] = 64
    """Maximum number of background responses that each process generates at the same time; 0 leaves
    them to other processes. One tenant alone uses at most four fifths of them (52 of 64), so
    another tenant's job starts immediately. A job mostly waits for its model; a streaming job
    writes to the store 25 times a second, which a store can easily handle from 64 jobs.
    """
    background_jobs_per_tenant: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000_000
    """Maximum number of background responses of one tenant that run at the same time, in all
    processes together. The limit of concurrent requests of an [API
    key](../operate/keys-and-budgets.md) also applies to its background responses.
    """
    background_queue_per_tenant: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000
    """Maximum number of background responses of one tenant that wait in the queue. The server
    rejects further ones with 429 and the code `background_queue_full`, and does not store them.
    """

    # --- Agents ---

    agents: list[str] = field(default_factory=list)
    """Names of [agents](../guides/write-an-agent.md) that `antiphon worker` serves from the same
    store. The server knows the agents of running workers without this setting. While no worker of
    an agent that is named here runs, background responses wait for one, and other requests fail
    with `agent_unavailable` instead of `model_not_found`. The flag `--agents` of `antiphon serve`
    is the module of agents to run.
    """

    agent_pin_wait: Annotated[float, Meta(ge=1, le=2_592_000)] = 3600.0
    """Time for which a background response of a [pinned
    agent](../guides/write-an-agent.md#deploy-new-versions) waits for a worker of its version. Then
    it fails with `agent_version_gone`. A server measures it from its own start or later.
    """
    max_agent_steps: Annotated[int, Meta(ge=1, le=1_000_000)] = 10_000
    """Maximum number of steps and items of one response of an agent; with more it fails with
    `too_many_steps`.
    """
    max_step_bytes: Annotated[int, Meta(ge=1, le=67_108_864)] = 1_048_576
    """Maximum size of the result of one step, in bytes of JSON; with a larger one the response
    fails with `step_result_too_large`. Each is stored as one row.
    """
    max_journal_bytes: Annotated[int, Meta(ge=1, le=1_073_741_824)] = 67_108_864
    """Maximum size of all results of the steps of one response together; with more it fails with
    `journal_too_large`. A worker that takes over a response has them in memory.
    """

    # --- Backends and routing ---

    backends: list[BackendConfig] = field(default_factory=list)
    """[Backends](#a-backend-in-the-file): the model servers to use. The file has a table for each;
    the variable holds base URLs separated by spaces or commas; the flag can be repeated. Default:
    the backends [found on this machine](#no-backend-configured).
    """
    fallback: dict[str, list[str]] = field(default_factory=dict)
    """[Fallback models](../operate/route-across-backends.md#fall-back-to-another-model): for each
    model, a list of the models to try, in order, when no backend can serve it. The variable holds
    `a=b,c d=e`.
    """
    messages_models: dict[str, str] = field(default_factory=dict)
    """Models for the names that [clients of the Messages API](fronts.md#names-of-models) send, such
    as `{ "claude-haiku-*" = "small", "claude-*" = "qwen3" }`: `*` matches any text, and the first
    name that matches counts. A name that a backend lists is never replaced. The variable holds
    `a=b c=d`.
    """
    check_interval: Annotated[float, Meta(ge=0, le=86_400)] = 10.0
    """Seconds between two health checks of the backends, which also read the models that each has
    loaded; 0 disables them.
    """
    connect_timeout: Annotated[float, Meta(gt=0)] = 2.0
    """Seconds that connecting to a backend can take, including the DNS lookup and the TLS
    handshake.
    """
    first_byte_timeout: Annotated[float, Meta(gt=0)] = 900.0
    """Seconds that a backend can take to send its first token. The default is long because a small
    machine needs a long time for a long prompt.
    """
    idle_timeout: Annotated[float, Meta(gt=0)] = 120.0
    """Seconds between two tokens after which the connection to a backend times out. Bytes without
    content, such as comments, do not count as activity.
    """

    # --- Models and prompts ---

    models: list[ModelConfig] = field(default_factory=list)
    """[Models](#a-model-in-the-file): defaults for requests to a model, and facts that override
    what Antiphon knows of it. The file has a table for each; the variable holds a JSON list.
    """
    prompts: dict[str, PromptConfig] = field(default_factory=dict)
    """[Prompts](#a-prompt-in-the-file) that requests can use, by their IDs. The file has a table
    for each; the variable holds a JSON object.
    """
    vision: str = ""
    """Model that [describes images](../guides/send-images-to-text-models.md) for models that cannot
    see them: the name that clients use, or `backend/model`. Empty: images are sent to every model.
    """
    probe: Literal["off", "auto"] = "off"
    """`auto` [probes](../guides/probe-a-model.md) each model on this machine or a private network
    in the background after its first use, while its backend is idle. `off`: you probe models with
    `antiphon models probe`. A probe keeps a slow machine busy for minutes, often exactly when you
    want to send the next request.
    """
    compare_prompts: bool = True
    """Whether to compare each prompt with that of the previous turn, for local backends that [cache
    prompts](../guides/reuse-prompt-caches.md)."""
    loop_calls: Annotated[int, Meta(ge=0, le=100)] = 4
    """Number of identical rounds of tool calls after which a local model receives [a note about
    them](../guides/repair-model-output.md#models-that-repeat-themselves); twice as many end the
    response. 0 disables the check.
    """
    loop_text: Annotated[int, Meta(ge=0, le=1_000_000)] = 8192
    """Number of characters of repeated text or reasoning after which the output of a local model
    ends; 0 disables the check.
    """
    currency: Annotated[str, Meta(min_length=1, max_length=16)] = "USD"
    """Name of the currency of [prices](../operate/keys-and-budgets.md#set-prices) and budgets. It
    is a label: no amount is converted.
    """
    reserved_output_tokens: ReservedTokens = 1_000
    """Output tokens that [budgets](../operate/keys-and-budgets.md#budgets) and token limits reserve
    for a response if the request sets no `max_output_tokens`. A `[[models]]` table can set another
    value for its model.
    """

    # --- Response cache ---

    cache_ttl: Annotated[int, Meta(ge=1, le=31_536_000)] = 3600
    """Seconds that a [cached response](../guides/cache-responses.md) stays valid if the request
    sets no other time.
    """
    cache_size: Annotated[int, Meta(ge=1, le=1_048_576)] = 256
    """Maximum size of the cache in megabytes. Above this limit, the least recently used responses
    are deleted.
    """
    cache_embeddings: str = ""
    """Embedding model that recognises [questions with the same
    meaning](../guides/cache-responses.md#match-questions-by-meaning). Empty: only identical
    questions match.
    """
    cache_similarity: Annotated[float, Meta(gt=0, le=1)] = 0.95
    """Minimum cosine similarity of two embeddings at which their questions count as equal."""

    # --- Tools and MCP ---

    strict_tools: bool = False
    """Whether to reject requests with [tools](tools.md) that this server cannot run. If false,
    Antiphon omits these tools from the prompt.
    """
    tool_rounds: Annotated[int, Meta(ge=1, le=10_000)] = 64
    """Maximum number of rounds in which a model calls tools of this server in one response. After
    the last one, the response ends with the status `incomplete`.
    """
    tool_time: Annotated[float, Meta(gt=0, le=86_400)] = 1800.0
    """Seconds after which a response makes no further calls of tools of this server, and ends with
    the status `incomplete`.
    """
    mcp_servers: list[McpServerConfig] = field(default_factory=list)
    """[MCP servers](../hosted-tools/mcp-servers.md) that requests can use by their label. The file
    has a [table](#an-mcp-server-in-the-file) for each; the variable holds `label=url` separated by
    spaces.
    """
    mcp_list_ttl: Annotated[float, Meta(ge=0, le=86_400)] = 60.0
    """Seconds after which Antiphon lists the tools of an MCP server again. If the server reports a
    change, Antiphon lists them immediately.
    """
    mcp_list_failure: Literal["fail", "continue"] = "fail"
    """Behaviour if the tools of an MCP server cannot be listed: `fail` ends the response with
    OpenAI's error (424 `external_connector_error`), `continue` generates the response without these
    tools.
    """
    mcp_tool_timeout: Annotated[float, Meta(gt=0, le=3600)] = 60.0
    """Seconds that one call of an MCP server's tool can take."""
    outgoing_networks: list[str] = field(default_factory=list)
    """Private networks in which MCP servers and web pages that requests name can be, such as
    `10.1.0.0/16` or a single address. MCP servers there can use plain HTTP. By default Antiphon
    connects to public addresses only. The variable holds them separated by spaces or commas.
    """

    # --- Web search ---

    web_search: str = ""
    """Provider of [web search](../hosted-tools/web-search.md): the URL of a SearXNG instance,
    `brave` or `tavily`. Empty: there is no provider, and the tool is omitted from the prompt.
    """
    web_search_url: str = ""
    """URL of the provider's API; private networks are allowed. Default: the provider's public
    URL.
    """
    web_search_key_env: str = ""
    """Environment variable with the provider's key, which is never read from the file. Default:
    `BRAVE_API_KEY` or `TAVILY_API_KEY`.
    """
    web_search_timeout: Annotated[float, Meta(gt=0, le=600)] = 10.0
    """Seconds that a search can take."""
    web_search_results: Annotated[int, Meta(ge=1, le=20)] = 10
    """Number of search results that the model receives for a medium context size: half as many for
    a low one, twice as many for a high one, and at most 20. A request can set another number.
    """

    # --- File search ---

    search_embeddings: str = ""
    """Embedding model for new vector stores, which are then searched by meaning and by keywords:
    any model of your backends that supports `/v1/embeddings`. Empty: vector stores are searched by
    keywords only, which needs no model. A vector store keeps the model with which it was created;
    to change it, index the vector store again. Its tokens are charged to the API key that attached
    the file or searched.
    """
    search_embeddings_batch: Annotated[int, Meta(ge=1, le=2048)] = 64
    """Maximum number of texts that one request to an embedding model contains. If its server
    accepts fewer, Antiphon learns [how
    many](../hosted-tools/file-search.md#limits-of-embedding-servers).
    """
    search_chunk_tokens: dict[str, Annotated[int, Meta(ge=100, le=4096)]] = field(
        default_factory=dict
    )
    """Size of a chunk in estimated tokens, for each embedding model, if a file is attached without
    a `chunking_strategy`; neighbouring chunks share up to half of it. Set it for a model with a
    small context, such as 350 for one of 512 tokens. A model without a value has chunks of 800
    tokens. The variable holds `a=350 b=600`.
    """

    # --- Code interpreter and shell ---

    code_sandbox: Literal["", "bubblewrap", "e2b"] = ""
    """Sandbox for the code of `code_interpreter` and hosted `shell`: `bubblewrap` on this machine,
    or `e2b` for a remote service with E2B's protocol. Empty: this server runs no code, and both
    tools are omitted from the prompt. The server tests the sandbox when it starts; if the sandbox
    does not work, both tools are omitted and the log has the reason. The variables of a container
    are in one process: with several `workers` or replicas, a later request may run in another
    process, which uses the same files, and the model is informed that variables are lost.
    """
    code_python: str = ""
    """Absolute path of the Python in a virtual environment in which code runs, such as one with
    pandas and Matplotlib. Empty: code runs in the server's Python without installed packages.
    """
    code_timeout: Annotated[float, Meta(gt=0, le=3600)] = 120.0
    """Seconds that one call of code, or all commands of one `shell` call, can run. A longer call of
    code fails: its variables are lost, its files are kept.
    """
    code_memory_max: Literal["1g", "4g", "16g", "64g"] = "4g"
    """Largest `memory_limit` of a container. A request for more is rejected with 400."""
    code_kernels_per_tenant: Annotated[int, Meta(ge=1, le=1_000)] = 10
    """Maximum number of containers of one tenant that each process keeps running between calls. For
    a further one, the process stops the container that was idle longest: it keeps its files and
    loses its variables.
    """
    code_running: Annotated[int, Meta(ge=0, le=10_000)] = 0
    """Maximum number of calls of code and commands that each process runs at the same time, shared
    between tenants: one tenant alone leaves one slot free. 0 means two for each core.
    """
    code_cores_per_tenant: Annotated[float, Meta(ge=0, le=10_000)] = 0.0
    """CPU cores that the code of one tenant can use on average, in all its containers of a process
    together; 0 for all cores except one. All cores are those that the process may use: the quota of
    its control group (`--cpus` of a container) counts. While code of several tenants works, each
    has at most an equal part of the cores. The server measures the CPU time of all processes of a
    container, and pauses the containers of a tenant that exceeds its share; the time of the pauses
    counts in [`code_timeout`](#code_timeout). Only for `bubblewrap`.
    """
    code_containers_per_tenant: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000
    """Maximum number of containers of one tenant. The server rejects further ones until others
    expire or are deleted.
    """
    code_e2b_url: str = ""
    """Base URL of the API of the service with E2B's protocol."""
    code_e2b_key_env: str = "E2B_API_KEY"
    """Environment variable with the API key of that service."""
    code_e2b_template: str = "code-interpreter-v1"
    """Template from which that service creates sandboxes."""

    # --- Image generation ---

    images_model: str = ""
    """Model that generates images, by the name at its server. If it is empty, the tool
    `image_generation` is not available. The model that a client names in the tool is ignored.
    """
    images_backend: str = ""
    """Base URL of the server that generates images, such as `http://127.0.0.1:8080/v1`; Antiphon
    calls `/images/generations` below it. Empty: the one of the `backends` that lists
    `images_model`.
    """
    images_key_env: str = ""
    """Environment variable with the key of `images_backend`; empty if it needs no key."""
    images_timeout: Annotated[float, Meta(gt=0, le=3600)] = 300.0
    """Seconds that generating an image can take."""
    images_running: Annotated[int, Meta(ge=1, le=1000)] = 2
    """Maximum number of images that each process generates at the same time with the tool, shared
    between tenants; further ones wait.
    """

    # --- Files ---

    file_storage: str = ""
    """Storage for the content of files: the absolute path of a directory, or an [S3-compatible
    bucket](../operate/store-files-in-s3.md) as `s3://bucket/prefix`. Empty: the store, which for
    SQLite uses a second file next to the first (`antiphon-files.db`). A change applies to new
    files; content in the store stays readable.
    """
    file_storage_endpoint: str = ""
    """URL of the S3-compatible service, such as `http://127.0.0.1:9000`. Empty: AWS."""
    file_storage_region: str = ""
    """Region of the bucket. Empty: the value of the variable `AWS_REGION`."""
    max_file: Annotated[int, Meta(ge=1024, le=2**40)] = 512 * 1024 * 1024
    """Maximum size in bytes of a file in one request to `POST /v1/files`; a larger one is rejected
    with 413. Files are streamed to the storage, so neither `max_body` nor `max_bodies` limits them.
    """
    max_upload: Annotated[int, Meta(ge=1024, le=2**50)] = 8 * 1024**3
    """Maximum size in bytes of a file that a client uploads in parts to `/v1/uploads`; a larger one
    is rejected with 413.
    """
    max_files: Annotated[int, Meta(ge=1, le=100_000_000)] = 10_000
    """Maximum number of files that a tenant can store; the server rejects further ones with 429. A
    pending upload counts as one file.
    """
    max_file_bytes: Annotated[int, Meta(ge=1024, le=2**60)] = 10 * 1024**3
    """Maximum total size in bytes of a tenant's files; the server rejects further ones with 429. A
    pending upload reserves its bytes. The bytes also count towards `max_stored_bytes`.
    """

    # --- Webhooks ---

    webhook_private_addresses: bool = False
    """Whether webhooks can be delivered over plain HTTP and to private addresses."""
    webhook_endpoints_per_tenant: Annotated[int, Meta(ge=1, le=100_000)] = 20
    """Maximum number of webhook endpoints of a tenant. Each event is delivered to all of them, so
    this limits how many deliveries one response causes.
    """

    # --- Console ---

    console: bool = True
    """Whether to serve [the console](../guides/use-the-console.md): `/console/` and its API,
    `/admin/v1`.
    """
    console_bodies: bool = False
    """Whether to store the requests to backends, compressed, with the facts of each stored
    response, up to 1 MiB for each response. They can be large, and contain everything that the
    model received. If false, the console reconstructs them from the stored data.
    """

    # --- Metrics and traces ---

    metrics: bool = True
    """Whether to serve [`/metrics`](../operate/monitor.md)."""
    metrics_key_env: str = ""
    """Environment variable with the key that [gives access to `/metrics` and
    `/status`](../operate/monitor.md#who-may-read-the-metrics), sent as `Authorization: Bearer`;
    empty for no key.
    """
    metrics_networks: list[str] = field(default_factory=list)
    """Networks from which programs can read `/metrics` and `/status` without a key, such as
    `10.1.0.0/16` or a single address; never through a proxy. Do not list the address of a proxy.
    The variable holds them separated by spaces or commas.
    """
    metrics_listen: str = ""
    """Address of an additional [listener](../operate/monitor.md#who-may-read-the-metrics) that
    serves `/metrics`, `/status`, `/healthz` and `/readyz` to everyone who can reach it, such as
    `127.0.0.1:9321` or `[::1]:9321`.
    """
    metrics_tenants: Annotated[int, Meta(ge=0, le=10_000)] = 0
    """Maximum number of tenants that [metrics by tenant](../operate/monitor.md#metrics-by-tenant)
    name in each process; further tenants are counted as `other`. 0 disables these metrics.
    """
    trace_endpoint: str = ""
    """URL of the collector of OpenTelemetry [traces](../operate/monitor.md#traces), such as
    `http://127.0.0.1:4318`, without a query. Default: the collector in
    `OTEL_EXPORTER_OTLP_ENDPOINT`.
    """
    trace_content: bool = False
    """Whether traces contain the input and the output of responses."""

    # --- Logging ---

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level of the messages in the log, which is written to standard error. At `debug`, a
    bug in the server is logged [with its message](../operate/monitor.md#the-log), which can quote
    data of clients.
    """
    log_format: Literal["text", "json"] = "text"
    """Format of the log: `text` for people, or `json` for [one JSON object per
    line](../operate/monitor.md#the-log).
    """
    access_log: bool = False
    """Whether to log [a line for each request](../operate/monitor.md#the-log)."""
