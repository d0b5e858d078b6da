"""Makes thumbnails with Pillow."""

import io
from typing import TypedDict

from ganger_worker import action
from PIL import Image, ImageOps


class Thumbnail(TypedDict):
    width: int
    height: int
    pixels: bytes  # RGB, row by row


@action(summary="Makes a thumbnail of a photograph, the right way up")
def thumbnail(photo: bytes, size: int) -> Thumbnail:
    with Image.open(io.BytesIO(photo)) as image:
        upright = ImageOps.exif_transpose(image)
        if upright.mode == "RGBA":  # what is transparent becomes white, as paper is
            upright = Image.alpha_composite(Image.new("RGBA", upright.size, "white"), upright)
        small = upright.convert("RGB")
        small.thumbnail((size, size), Image.Resampling.LANCZOS)
    return {"width": small.width, "height": small.height, "pixels": small.tobytes()}
