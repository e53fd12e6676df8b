"""Every setting, with its type, its default and what it is for."""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from antiphon.config.models import ModelConfig, PromptConfig, ReservedTokens


class BackendConfig(Struct, kw_only=True, forbid_unknown_fields=True):
    """One backend. Its key is never written here: `key_env` names the environment variable that holds it.

    >>> from antiphon import BackendConfig
    >>> BackendConfig(url="http://127.0.0.1:8000/v1", name="gpu", aliases={"fast": "qwen3-4b"}).weight
    1.0
    """

    url: str
    """Base URL, ending in `/v1` or the like."""
    name: str = ""
    """What to call it; by default its host and port."""
    key_env: str = ""
    """Environment variable with its key; empty where it needs none."""
    dialect: str = ""
    """Family of backends that it belongs to; by default told from its URL and its list of models."""
    api: Literal["auto", "chat", "responses", "ollama"] = "auto"
    """The API that it is called by: Chat Completions, Responses as it serves them itself, or Ollama's native API."""
    num_ctx: Annotated[int, Meta(ge=1024, le=2**31 - 1)] = 65_536
    """Tokens of the largest window that Ollama loads a model with, by its native API."""
    keep_alive: str = ""
    """How long Ollama keeps a model in memory after an answer, by its native API; empty for the server's own time."""
    models: list[str] | Literal["*"] = field(default_factory=list)
    """Models that it serves, or `*` for whatever is asked for; by default those that it lists."""
    aliases: dict[str, str] = field(default_factory=dict)
    """Names that clients use, each with the model's name at this backend."""
    weight: Annotated[float, Meta(gt=0, le=1000)] = 1.0
    """How much it is asked beside the others that serve the same model."""
    concurrency: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    """Requests that it is sent at once; 0 for any number."""
    queue: Annotated[int, Meta(ge=0, le=1_000_000)] = 100
    """Requests that may wait for it beyond `concurrency`."""
    tenant_concurrency: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    """Requests of one tenant that each process sends it at once; 0 for as many as `concurrency`."""
    cache: bool = False
    """Whether its answers are kept, and given again to who asks the same."""
    cache_salt: bool = False
    """Whether each tenant's requests carry a `cache_salt` of its own: vLLM then reuses no prompt across tenants."""
    passthrough: list[str] | None = None
    """Parameters beside those of the Responses API that are forwarded to it; by default those of its dialect."""
    check_answers: bool | None = None
    """Whether its models' answers are checked and corrected; by default where its dialect says so."""
    connect_timeout: Annotated[float, Meta(gt=0)] | None = None
    """As the setting of this name, for this backend."""
    first_byte_timeout: Annotated[float, Meta(gt=0)] | None = None
    """As the setting of this name, for this backend."""
    idle_timeout: Annotated[float, Meta(gt=0)] | None = None
    """As the setting of this name, for this backend."""
    ca_file: str = ""
    """File with the certificate authorities to trust, in PEM; by default those of the system."""
    client_cert: str = ""
    """File with the certificate that this server shows the backend, in PEM."""
    client_key: str = ""
    """File with the key of `client_cert`, without a password; empty where that file holds it too."""
    proxy: str = ""
    """URL of the proxy to it, or `none`; by default the proxy that the environment names."""


class McpServerConfig(Struct, kw_only=True, forbid_unknown_fields=True):
    """One MCP server: at a URL, or a program of this machine. What is secret stays in the environment.

    >>> from antiphon import McpServerConfig, Settings
    >>> tickets = McpServerConfig(label="tickets", url="https://tickets.example/mcp", key_env="TICKETS_KEY")
    >>> settings = Settings(mcp_servers=[tickets])
    """

    label: str
    """What requests call it by: their `server_label`."""
    url: str = ""
    """Where it is; empty for a program."""
    command: str = ""
    """The program that it is, which speaks over its standard input and output; empty for a URL."""
    args: list[str] = field(default_factory=list)
    """The program's arguments."""
    env: list[str] = field(default_factory=list)
    """Names of environment variables that the program gets, beside the likes of `PATH` and `HOME`."""
    transport: Literal["auto", "http", "sse"] = "auto"
    """How it is asked at its URL: by Streamable HTTP, by the older events beside posts, or by what it knows."""
    key_env: str = ""
    """Environment variable with its key, which is sent as a bearer token; empty where it needs none."""
    connector: str = ""
    """The `connector_id` that it answers for."""
    description: str = ""
    """What it is for, in words for the model."""
    timeout: Annotated[float, Meta(gt=0, le=3600)] | None = None
    """As the setting `mcp_tool_timeout`, for this server."""


class Settings(Struct, kw_only=True, forbid_unknown_fields=True):
    """Every setting of the server. Times are in seconds.

    >>> from antiphon import BackendConfig, Settings
    >>> fast, large = BackendConfig(url="http://gpu-a:8000/v1"), BackendConfig(url="http://gpu-b:8000/v1")
    >>> settings = Settings(backends=[fast, large], fallback={"large": ["fast"]}, store="sqlite:///~/answers.db")
    """

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 8321
    """Port to listen on; 0 takes a free one."""
    store: str = "sqlite:///~/.local/share/antiphon/antiphon.db"
    """Where state is kept: a file, `postgresql://user@host/database`, or `sqlite://` for memory only."""
    store_connections: Annotated[int, Meta(ge=2, le=1000)] = 10
    """Connections to PostgreSQL that a process opens at most, beside one to listen."""
    workers: Annotated[int, Meta(ge=1, le=256)] = 1
    """Processes that serve the port together."""
    background_jobs: Annotated[int, Meta(ge=0, le=100_000)] = 64
    """Background responses that a process makes at once, shared between tenants; 0 leaves them to other processes."""
    background_jobs_per_tenant: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000_000
    """Background responses of one tenant that are made at once, by all processes together."""
    background_queue_per_tenant: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000
    """Background responses of one tenant that may wait to be made; one more is answered with 429."""
    max_responses: Annotated[int, Meta(ge=0, le=1_000_000)] = 2_000
    """Responses of requests with an API key that a process makes at once, shared between tenants; 0 for any number."""
    grace: Annotated[float, Meta(ge=0, le=3600)] = 30.0
    """How long replies may take to finish after SIGTERM."""
    websocket: bool = True
    """Whether `/v1/responses` takes WebSockets."""
    webhook_private_addresses: bool = False
    """Whether webhooks may be delivered by plain HTTP and to private addresses."""
    webhook_endpoints_per_tenant: Annotated[int, Meta(ge=1, le=100_000)] = 20
    """Webhook endpoints that a tenant may have; each of its events is delivered to all of them."""
    outgoing_networks: list[str] = field(default_factory=list)
    """Private networks in which MCP servers and web pages may be, as CIDR."""
    retention_days: Annotated[int, Meta(ge=1, le=36_500)] = 30
    """Days after which a stored response is forgotten."""
    purge_fraction: Annotated[float, Meta(gt=0, le=1)] = 0.2
    """Fraction of the stored responses that one purge may delete; a larger purge waits for `antiphon purge --yes`."""
    facts: bool = True
    """Whether facts about each response are kept, for lists and timelines."""
    console_bodies: bool = False
    """Whether the requests to backends are kept with the facts of stored responses."""
    strict_tools: bool = False
    """Whether tools that this server cannot run are refused, instead of left out of what the model sees."""
    strict_seals: bool = False
    """Whether an `encrypted_content` that cannot be opened is refused, instead of left out."""
    seal_keys: list[str] = field(default_factory=list)
    """Keys that seal `encrypted_content`, 32 bytes in base64 each: the first seals, all open."""
    backends: list[BackendConfig] = field(default_factory=list)
    """Chat Completions servers; where none is named, the usual places on this machine are looked at."""
    fallback: dict[str, list[str]] = field(default_factory=dict)
    """Models that may answer in another's place, where nobody can serve that one."""
    models: list[ModelConfig] = field(default_factory=list)
    """Models with defaults for their requests, or with facts that replace what is known of them."""
    prompts: dict[str, PromptConfig] = field(default_factory=dict)
    """Prompts that requests can name, by their ids."""
    currency: Annotated[str, Meta(min_length=1, max_length=16)] = "USD"
    """Name of the currency of prices and budgets: a label, nothing is converted."""
    reserved_output_tokens: ReservedTokens = 1_000
    """Tokens that budgets and token limits reserve for an answer if the request does not limit its length."""
    probe: Literal["off", "auto"] = "off"
    """Whether a model on this machine or a private network is probed in the background once it is used."""
    compare_prompts: bool = True
    """Whether prompts are compared with those of the turn before, for local backends that reuse what they have read."""
    vision: str = ""
    """Model that describes images to models that see none; empty where images are sent to every model."""
    cache_ttl: Annotated[int, Meta(ge=1, le=31_536_000)] = 3600
    """How long an answer is kept to be given again, where the request does not say."""
    cache_size: Annotated[int, Meta(ge=1, le=1_048_576)] = 256
    """Megabytes of answers that are kept; beyond, those that were not used for longest are forgotten."""
    cache_embeddings: str = ""
    """Model whose embeddings tell which questions mean the same; empty where they must be the same word for word."""
    cache_similarity: Annotated[float, Meta(gt=0, le=1)] = 0.95
    """Cosine of two such embeddings from which their questions mean the same."""
    search_embeddings: str = ""
    """Embedding model for new vector stores, searched beside keywords; empty for keywords alone."""
    images_backend: str = ""
    """Base URL of the server that makes images, with `/images/generations` below it; empty for the `backends`."""
    images_model: str = ""
    """Model that makes images, as that server calls it; without it the tool `image_generation` is not offered."""
    images_key_env: str = ""
    """Environment variable with the key of `images_backend`; empty for no key."""
    images_timeout: Annotated[float, Meta(gt=0, le=3600)] = 300.0
    """How long an image may take to be made."""
    images_running: Annotated[int, Meta(ge=1, le=1000)] = 2
    """Images that a process has made at once, shared between tenants; more wait."""
    tool_rounds: Annotated[int, Meta(ge=1, le=10_000)] = 64
    """Times that a model may ask for tools of this server in one response."""
    tool_time: Annotated[float, Meta(gt=0, le=86_400)] = 1800.0
    """For how long it may."""
    mcp_servers: list[McpServerConfig] = field(default_factory=list)
    """MCP servers that requests may use by their label."""
    mcp_list_ttl: Annotated[float, Meta(ge=0, le=86_400)] = 60.0
    """How long the list of an MCP server's tools is used before it is asked for anew."""
    mcp_list_failure: Literal["fail", "continue"] = "fail"
    """Whether a response fails, as OpenAI's do, or goes on where the tools of an MCP server cannot be listed."""
    mcp_tool_timeout: Annotated[float, Meta(gt=0, le=3600)] = 60.0
    """How long the call of an MCP server's tool may take."""
    web_search: str = ""
    """Who searches the web: the URL of a SearXNG instance, `brave` or `tavily`; empty where nobody does."""
    web_search_url: str = ""
    """Where the provider's API is; by default its own."""
    web_search_key_env: str = ""
    """Environment variable with the provider's key; by default `BRAVE_API_KEY` or `TAVILY_API_KEY`."""
    web_search_timeout: Annotated[float, Meta(gt=0, le=600)] = 10.0
    """How long a search may take."""
    web_search_results: Annotated[int, Meta(ge=1, le=20)] = 10
    """Results that the model is told of a search, where the request asks for a medium context and names no number."""
    code_sandbox: Literal["", "bubblewrap", "e2b"] = ""
    """What isolates code of `code_interpreter` and `shell`: `bubblewrap`, `e2b`, or empty for no such tools."""
    code_python: str = ""
    """Python of the virtual environment for code, an absolute path; by default the server's Python without packages."""
    code_timeout: Annotated[float, Meta(gt=0, le=3600)] = 120.0
    """How long one call of code or of shell commands may run."""
    code_memory_max: Literal["1g", "4g", "16g", "64g"] = "4g"
    """Largest `memory_limit` that a container may have."""
    code_kernels_per_tenant: Annotated[int, Meta(ge=1, le=1_000)] = 10
    """Containers of a tenant that a process keeps running between calls; the others keep their files only."""
    code_running: Annotated[int, Meta(ge=0, le=10_000)] = 0
    """Calls of code that a process runs at once, shared between tenants; 0 for two per core."""
    code_containers_per_tenant: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000
    """Running containers that a tenant may have."""
    code_e2b_url: str = ""
    """Base URL of the service that speaks E2B's protocol."""
    code_e2b_key_env: str = "E2B_API_KEY"
    """Environment variable with the key of that service."""
    code_e2b_template: str = "code-interpreter-v1"
    """Template from which that service makes its sandboxes."""
    loop_calls: Annotated[int, Meta(ge=0, le=100)] = 4
    """Identical rounds of calls after which the model gets a note; twice as many end the response. 0 for never."""
    loop_text: Annotated[int, Meta(ge=0, le=1_000_000)] = 8192
    """Characters that only repeat themselves, in text or reasoning, after which an answer ends; 0 for never."""
    check_interval: Annotated[float, Meta(ge=0, le=86_400)] = 10.0
    """Seconds between looks whether the backends are there and what they have loaded; 0 never looks."""
    connect_timeout: Annotated[float, Meta(gt=0)] = 2.0
    """How long a connection to a backend may take, with its name looked up and TLS agreed on."""
    first_byte_timeout: Annotated[float, Meta(gt=0)] = 900.0
    """How long a backend may take to its first token."""
    idle_timeout: Annotated[float, Meta(gt=0)] = 120.0
    """How long a backend may be silent between two tokens."""
    max_body: Annotated[int, Meta(ge=1024, le=2**40)] = 32 * 1024 * 1024
    """Bytes that a request's body may have, inflated, or a WebSocket's message."""
    max_bodies: Annotated[int, Meta(ge=1024, le=2**40)] = 512 * 1024 * 1024
    """Bytes of memory that a process uses for clients: requests, histories, and what WebSockets hold."""
    max_connection_bytes: Annotated[int, Meta(ge=1024, le=2**40)] = 128 * 1024 * 1024
    """Bytes of `max_bodies` that one WebSocket connection may hold."""
    max_items: Annotated[int, Meta(ge=1, le=10_000_000)] = 20_000
    """Items that the input of a request may have."""
    max_history_items: Annotated[int, Meta(ge=1, le=10_000_000)] = 20_000
    """Items of a chain or a conversation that one turn may load."""
    max_history_bytes: Annotated[int, Meta(ge=1024, le=2**40)] = 64 * 1024 * 1024
    """Bytes of these items."""
    max_conversation_items: Annotated[int, Meta(ge=1, le=10_000_000)] = 20_000
    """Items that a conversation may have."""
    max_conversation_bytes: Annotated[int, Meta(ge=1024, le=2**40)] = 64 * 1024 * 1024
    """Bytes of these items."""
    max_stored_bytes: Annotated[int, Meta(ge=0, le=2**60)] = 0
    """Bytes that a tenant may have stored; 0 for no limit."""
    file_storage: str = ""
    """Where the content of files is: a directory, or `s3://bucket/prefix`; empty for the store."""
    file_storage_endpoint: str = ""
    """URL of the S3-compatible service; by default that of AWS."""
    file_storage_region: str = ""
    """Region of the bucket; by default that of the variable `AWS_REGION`."""
    max_file: Annotated[int, Meta(ge=1024, le=2**40)] = 512 * 1024 * 1024
    """Bytes of a file that a client sends in one request."""
    max_upload: Annotated[int, Meta(ge=1024, le=2**50)] = 8 * 1024**3
    """Bytes of a file that a client uploads in parts."""
    max_files: Annotated[int, Meta(ge=1, le=100_000_000)] = 10_000
    """Files that a tenant may have stored."""
    max_file_bytes: Annotated[int, Meta(ge=1024, le=2**60)] = 10 * 1024**3
    """Bytes of these files."""
    max_connections: Annotated[int, Meta(ge=1, le=1_000_000)] = 10_000
    """Connections of clients that a process has at most."""
    allowed_hosts: list[str] = field(default_factory=list)
    """Names under which clients may ask, beside this machine's own."""
    allowed_origins: list[str] = field(default_factory=list)
    """Origins whose pages may ask from a browser."""
    console: bool = True
    """Whether `/console/` and its API, `/admin/v1`, are served."""
    metrics: bool = True
    """Whether `/metrics` is served."""
    metrics_key_env: str = ""
    """Environment variable with the key that opens `/metrics` and `/status`; empty for no key."""
    metrics_networks: list[str] = field(default_factory=list)
    """Networks whose programs may read `/metrics` and `/status` without a key, as CIDR; never through a proxy."""
    metrics_listen: str = ""
    """Address of a listener for `/metrics`, `/status`, `/healthz` and `/readyz` alone, such as `127.0.0.1:9321`."""
    metrics_tenants: Annotated[int, Meta(ge=0, le=10_000)] = 0
    """Tenants that metrics name; all further ones are `other`. 0 for no metrics by tenant."""
    trace_endpoint: str = ""
    """Collector of OpenTelemetry traces, such as `http://127.0.0.1:4318`; by default the one that `OTEL_…` names."""
    trace_content: bool = False
    """Whether traces hold what was said."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """What is worth a line in the log, on standard error."""
    log_format: Literal["text", "json"] = "text"
    """Lines for people, or one JSON object each."""
    access_log: bool = False
    """Whether every request has a line in the log."""
