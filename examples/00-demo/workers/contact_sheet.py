"""Draws the contact sheet."""

import io
from typing import TypedDict

from ganger_worker import action
from PIL import Image, ImageDraw, ImageFont

COLUMNS, TILE, GAP, CAPTION, HEADING = 5, 216, 20, 62, 84
INK, FAINT, PAPER, CARD = "#f2efe9", "#8d8a84", "#17181b", "#232529"


class Picture(TypedDict):
    name: str
    width: int
    height: int
    pixels: bytes
    colours: list[str]
    sha256: str
    dhash: str


@action(summary="Draws thumbnails with names, colours and hashes on one sheet, as a PNG")
def draw(title: str, pictures: list[Picture]) -> bytes:
    rows = -(-len(pictures) // COLUMNS)
    width = GAP + COLUMNS * (TILE + GAP)
    sheet = Image.new("RGB", (width, HEADING + rows * (TILE + CAPTION + GAP) + GAP // 2), PAPER)
    pen = ImageDraw.Draw(sheet)
    pen.text((GAP, HEADING // 2), title, INK, ImageFont.load_default(26), anchor="lm")
    for place, picture in enumerate(pictures):
        row, column = divmod(place, COLUMNS)
        _card(sheet, pen, GAP + column * (TILE + GAP), HEADING + row * (TILE + CAPTION + GAP), picture)
    png = io.BytesIO()
    sheet.save(png, "PNG")
    return png.getvalue()


def _card(sheet: Image.Image, pen: ImageDraw.ImageDraw, left: int, top: int, picture: Picture) -> None:
    pen.rounded_rectangle((left, top, left + TILE - 1, top + TILE + CAPTION - 1), 8, CARD)
    size = (picture["width"], picture["height"])
    image = Image.frombytes("RGB", size, picture["pixels"])
    sheet.paste(image, (left + (TILE - size[0]) // 2, top + (TILE - size[1]) // 2))
    pen.text((left + 12, top + TILE + 14), picture["name"], INK, ImageFont.load_default(15), anchor="lm")
    pen.text((left + 12, top + TILE + 36), picture["dhash"], FAINT, ImageFont.load_default(11), anchor="lm")
    strip = (TILE - 24) / len(picture["colours"])
    for place, colour in enumerate(picture["colours"]):
        x = left + 12 + place * strip
        pen.rectangle((round(x), top + TILE + 48, round(x + strip) - 1, top + TILE + 54), colour)
