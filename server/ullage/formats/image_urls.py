"""Images as URLs, as OpenAI's formats have them."""

from ullage.model.blocks import ImageBlock


def read_image_url(url: str) -> ImageBlock:
    """Returns an image block for a URL. A base64 `data:` URL becomes the block's media type and data; any other URL is
    kept."""
    head, comma, data = url.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return ImageBlock(media_type=head.removeprefix("data:").removesuffix(";base64") or "image/png", data=data)
    return ImageBlock(url=url)


def image_url(block: ImageBlock) -> str:
    """Returns the URL by which OpenAI accepts an image: the block's own URL, or a `data:` URL with its data."""
    return block.url if block.url is not None else f"data:{block.media_type};base64,{block.data}"
