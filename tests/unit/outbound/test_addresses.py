"""Which addresses are public."""

import pytest

from antiphon.outbound.ssrf import is_public
from tests.support.cases import each

PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "2606:4700:4700::1111",
    "2001:4860:4860::8888",
    "64:ff9b::808:808",
    "::ffff:8.8.8.8",
]
PRIVATE = [
    *(
        "127.0.0.1",
        "127.255.255.254",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
    ),
    *(
        "169.254.169.254",
        "100.64.0.1",
        "192.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
    ),
    *(
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd00::1",
    ),
    *(
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a00:1",
    ),
    *(
        "2002:7f00:1::",
        "2002:a00:1::",
        "2001:0:7f00:1::",
        "2001:db8::1",
        "fec0::1",
        "64:ff9b:1::7f00:1",
    ),
    *(
        "192.0.0.192",
        "168.63.129.16",
        "100.100.100.200",
        "fd00:ec2::254",
        "64:ff9b::a9fe:a9fe",
        "::ffff:0:0",
    ),
    *(
        "64:ff9b:1:7f00:0:100:808:808",
        "2606:4700::5efe:7f00:1",
        "2606:4700::200:5efe:a00:1",
        "::ffff:169.254.169.254",
    ),
]


@pytest.mark.parametrize("address", PUBLIC)
def test_a_public_address_is_public(address: str) -> None:
    assert is_public(address)


@each("address", PRIVATE)
def test_a_private_address_is_not_however_it_is_packed(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["", "localhost", "1.2.3", "0x7f.1", "2130706433", "[::1]"])
def test_what_is_no_address_is_an_error(address: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        is_public(address)
