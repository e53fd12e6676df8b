"""The software bill of materials, in CycloneDX's JSON."""

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component as Entry
from cyclonedx.model.component import ComponentType
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from release.components import UNKNOWN, Component
from release.steps import ReleaseError

SCHEMA = SchemaVersion.V1_6


def document(
    own: Component,
    needed: Sequence[Component],
    bundled: Sequence[Component],
    wheel: str,
    epoch: int,
) -> str:
    """Return the document of a package, of what it needs and of what is bundled with it.

    `wheel` is the SHA-256 of its wheel, `epoch` the time of the release in seconds since 1970: the
    same release has the same document. Raises `ReleaseError` if the document is not valid by
    CycloneDX's schema.
    """
    entries = {component.name: _entry(component) for component in (*needed, *bundled)}
    root = _entry(
        own, ComponentType.APPLICATION, [HashType(alg=HashAlgorithm.SHA_256, content=wheel)]
    )
    bom = Bom(
        serial_number=uuid5(NAMESPACE_URL, f"{root.purl}#{wheel}"),
        metadata=BomMetaData(component=root, timestamp=datetime.fromtimestamp(epoch, UTC)),
        components=entries.values(),
    )
    bom.register_dependency(
        root, [entries[name] for name in (*own.needs, *(one.name for one in bundled))]
    )
    for component in needed:
        bom.register_dependency(
            entries[component.name], [entries[name] for name in component.needs]
        )
    text = make_outputter(bom, OutputFormat.JSON, SCHEMA).output_as_string(indent=2)
    if error := JsonStrictValidator(SCHEMA).validate_str(text):
        raise ReleaseError(f"The SBOM is not valid by CycloneDX {SCHEMA.to_version()}: {error}")
    return text + "\n"


def _entry(
    component: Component,
    kind: ComponentType = ComponentType.LIBRARY,
    hashes: Sequence[HashType] = (),
) -> Entry:
    group, _, name = component.name.rpartition("/")  # a scope of npm: @preact/signals
    url = PackageURL(component.kind, group or None, name, component.version)
    licences = (
        []
        if component.licence == UNKNOWN
        else [LicenseFactory().make_from_string(component.licence)]
    )
    return Entry(
        name=name, group=group or None, version=component.version, type=kind, purl=url, bom_ref=str(url),  # noqa: E501 - one text, or a row of a table
        licenses=licences, hashes=hashes,
    )  # fmt: skip
