"""A port on every address of this machine to which nobody may connect, and the URLs by which some
would.
"""

# Letters that look like others, and long lists.
# ruff: noqa: RUF001

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from antiphon.outbound.lookups import Asker

PRIVATE = "169.254.169.254"


@dataclass
class Tripwire:
    """`touched` counts the connections to it; each is answered as a page would be."""

    port: int
    touched: int = 0

    async def touch(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.touched += 1
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\nconnection: "
            b"close\r\n\r\nsecret"
        )
        await writer.drain()
        writer.close()


@asynccontextmanager
async def tripwire() -> AsyncIterator[Tripwire]:
    """Listen on all addresses of this machine, of both kinds."""
    with socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        wire = Tripwire(listener.getsockname()[1])
        async with await asyncio.start_server(wire.touch, sock=listener):
            yield wire


async def worst_names(name: str, asker: Asker) -> list[str]:
    """Look a name up where every name leads to this machine or into its network; numbers are read
    as the system does.
    """
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        return [str(info[4][0]) for info in found]
    except (OSError, UnicodeError):
        return NAMES.get(name, ["127.0.0.1"])


NAMES = {
    "six.evil.example": ["::1"],
    "mapped.evil.example": ["::ffff:127.0.0.1"],
    "translated.evil.example": ["64:ff9b::7f00:1"],
    "tunnelled.evil.example": ["2002:7f00:1::"],
    "any.evil.example": ["0.0.0.0"],
    "both.evil.example": ["93.184.215.14", "127.0.0.1"],
    "last.evil.example": ["2606:4700:4700::1111", "93.184.215.14", "::1"],
    "zone.evil.example": ["fe80::1%lo"],
    "metadata.google.internal": [PRIVATE],
    "metadata": [PRIVATE],
    "instance-data": [PRIVATE],
    "kubernetes.default.svc": ["10.96.0.1"],
}

_HOSTS = [
    # This machine, in every way in which an address can be written.
    *(
        "127.0.0.1",
        "127.0.0.2",
        "127.127.127.127",
        "127.255.255.254",
        "127.1",
        "127.0.1",
        "127.000.000.001",
    ),
    *(
        "2130706433",
        "017700000001",
        "0x7f000001",
        "0x7F000001",
        "0x7f.0.0.1",
        "0x7f.1",
        "0177.0.0.1",
        "0177.0.0.01",
    ),
    *(
        "00177.0.0.1",
        "0177.0x0.0.1",
        "127.0.0x0.1",
        "0x7f.0x0.0x0.0x1",
        "0300.0250.1",
        "4294967297",
        "1.2.3.4.5",
    ),
    *(
        "0",
        "0.0.0.0",
        "0.0",
        "0x0",
        "00.0.0.0",
        "0.0.0.0.",
        "127.0.0.1.",
        "127.0.0.1..",
        "127.1.",
        "2130706433.",
    ),
    *(
        "256.0.0.1",
        "127.0.0.256",
        "127.0.0.1.0x",
        "127.0.0.01",
        "127.00.0.1",
        "٣.0.0.1",
        "127.٠.0.1",
    ),
    # The same in IPv6, and IPv4 packed into it.
    *(
        "[::1]",
        "[::]",
        "[0:0:0:0:0:0:0:1]",
        "[0000:0000:0000:0000:0000:0000:0000:0001]",
        "[::0001]",
        "[::ffff:0:0]",
    ),
    *(
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[::7f00:1]",
    ),
    *(
        "[::ffff:0:127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
    ),
    *(
        "[2001:0:7f00:1::]",
        "[2001::80ff:fffe]",
        "[2606:4700::5efe:7f00:1]",
        "[::1%25lo]",
        "[::1%lo]",
        "[fe80::1%25lo]",
    ),
    *(
        "[fe80::1]",
        "[fec0::1]",
        "[fd00::1]",
        "[fd00:ec2::254]",
        "[ff02::1]",
        "[127.0.0.1]",
        "[::1",
        "::1",
        "[::1].x",
    ),
    # In letters that are others' digits and dots.
    *(
        "127。0。0。1",
        "127．0．0．1",
        "127｡0｡0｡1",
        "①②⑦.⓪.⓪.①",
        "１２７.０.０.１",
        "𝟏𝟐𝟕.𝟎.𝟎.𝟏",
        "0x7f。1",
        "⑫7.0.0.1",
    ),
    *(
        "ｌｏｃａｌｈｏｓｔ",
        "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ",
        "ˡocalhost",
        "local\u00adhost",
        "local\u200bhost",
        "localhost\u3002",
        "ℒocalhost",
    ),
    # Names.
    *(
        "localhost",
        "LOCALHOST",
        "localhost.",
        "localhost..",
        "localhost.localdomain",
        "ip6-localhost",
        "x.localhost",
    ),
    *(
        "127.0.0.1.nip.io",
        "localtest.me",
        "evil.example",
        "xn--evil-example",
        "a.127.0.0.1.sslip.io",
        "broadcasthost",
    ),
    *NAMES,
    # Networks around this machine, and what clouds tell their own.
    *(
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "100.64.0.1",
        "100.100.100.200",
        "192.0.0.192",
        "198.18.0.1",
    ),
    *(
        PRIVATE,
        "0xa9fea9fe",
        "2852039166",
        "0251.0376.0251.0376",
        "169.254.43518",
        "[::ffff:169.254.169.254]",
    ),
    *(
        "[::ffff:a9fe:a9fe]",
        "[64:ff9b::a9fe:a9fe]",
        "168.63.129.16",
        "255.255.255.255",
        "224.0.0.1",
        "240.0.0.1",
    ),
]

_FORMS = [
    # Two readings of where the host ends, or of where it begins.
    *(
        "http://93.184.215.14\\@127.0.0.1:{port}/",
        "http://127.0.0.1:{port}\\@93.184.215.14/",
        "http://a\\.127.0.0.1:{port}",
    ),
    *(
        "http://93.184.215.14@127.0.0.1:{port}/",
        "http://93.184.215.14:80@127.0.0.1:{port}/",
        "http://@127.0.0.1:{port}/",
    ),
    *(
        "http://a#@127.0.0.1:{port}/",
        "http://127.0.0.1:{port}#@93.184.215.14/",
        "http://127.0.0.1:{port}?@93.184.215.14/",
    ),
    *(
        "http://127.0.0.1:{port}%2f@93.184.215.14/",
        "http://127.0.0.1%00.a:{port}/",
        "http://127.0.0.1%09:{port}/",
    ),
    *(
        "http://127.0.0.1:{port}:80/",
        "http://127.0.0.1:80:{port}/",
        "http://[::1]:{port}@a/",
        "http://a@[::1]:{port}/",
    ),
    *(
        "http:127.0.0.1:{port}",
        "http:/127.0.0.1:{port}/",
        "http:///127.0.0.1:{port}/",
        "http:\\\\127.0.0.1:{port}\\",
    ),
    *(
        "//127.0.0.1:{port}/",
        "\\\\127.0.0.1:{port}\\",
        "127.0.0.1:{port}",
        "http://127.0.0.1:{port}\\/",
        "http:////127.0.0.1:{port}",
    ),
    *(
        " http://127.0.0.1:{port}/",
        "\thttp://127.0.0.1:{port}/",
        "ht\ntp://127.0.0.1:{port}/",
        "http://127.0\t.0.1:{port}/",
    ),
    *(
        "http://127.0.0.1\r\n:{port}/",
        "http://127.0.0.1 :{port}/",
        "http://127.0.0.1:{port} /",
        "http://127.0.0.1: {port}/",
    ),
    *(
        "http://127.0.0.1:{port}/\r\nx: y",
        "http://127.0.0.1\x00:{port}/",
        "http://127.0.0.1:{port}\uff0fx",
        "http://a\uff20127.0.0.1:{port}/",
    ),
    *(
        "http://%31%32%37.0.0.1:{port}/",
        "http://127%2e0%2e0%2e1:{port}/",
        "http://%6c%6f%63%61lhost:{port}/",
        "http://loc%61lhost:{port}",
    ),
    # Other protocols.
    *(
        "file:///etc/passwd",
        "file://127.0.0.1:{port}/x",
        "gopher://127.0.0.1:{port}/_GET%20/",
        "ftp://127.0.0.1:{port}/",
    ),
    *(
        "dict://127.0.0.1:{port}/x",
        "ws://127.0.0.1:{port}/",
        "unix:///run/x.sock",
        "http+unix://%2frun%2fx.sock/",
    ),
    *(
        "jar:http://127.0.0.1:{port}/!/",
        "javascript:fetch('http://127.0.0.1:{port}')",
        "data:text/html,x",
        "view-source:http://127.0.0.1:{port}",
    ),
]


def odd_urls(port: int) -> list[str]:
    """Every URL that leads, or may be taken to lead, to this machine or into its network; one such
    URL each.
    """
    return [f"http://{host}:{port}/" for host in _HOSTS] + [
        form.replace("{port}", str(port)) for form in _FORMS
    ]


SEEN = [
    f"http://{host}:{{port}}/"
    for host in (
        "127.0.0.1",
        "localhost",
        "[::1]",
        "127。0。0。1",
        "[::ffff:127.0.0.1]",
        "any.evil.example",
    )
]
"""Some of them that do lead to a tripwire where it is within reach."""
