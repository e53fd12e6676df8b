"""Images."""

from antiphon.conformance.requirement import Table, capability, must, should

API = "chat-api images"

TABLE: Table = (
    must("chat:images:data-url", API, "An image is taken as a data URL."),
    must("chat:images:several", API, "Several images in one message are taken."),
    must("chat:images:over-turns", API, "Images over several turns are taken."),
    should("chat:images:detail", API, "An image may have a `detail`."),
    must("chat:images:any-order", API, "Images and texts stand in any order."),
    must("chat:images:streamed", API, "An answer about an image can be streamed."),
    must("chat:images:bad-data", API, "An image that is no image is refused with a 4xx, or taken, but no 5xx."),
    should("chat:images:file-url", API, "An image at a `file:` URL is not taken."),
    capability(should("chat:images:colour", API, "The model tells the colour of a picture.")),
    capability(should("chat:images:told-apart", API, "The model tells two pictures apart.")),
)
