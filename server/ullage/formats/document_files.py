"""Documents as files with a name and a `data:` URL, as OpenAI's formats have them."""

from ullage.formats.image_urls import read_image_url
from ullage.model.blocks import PDF, ResourceBlock
from ullage.model.json_values import JsonObject, as_text


def read_file(file: JsonObject) -> ResourceBlock | None:
    """Returns the document of a part's `filename` and `file_data`. Returns None if it holds no PDF, or only the id of
    an uploaded file."""
    read = read_image_url(as_text(file.get("file_data")))
    if read.data is None or read.media_type != PDF:
        return None
    return ResourceBlock(uri=as_text(file.get("filename")) or "document.pdf", mime_type=PDF, data=read.data)


def write_file(block: ResourceBlock) -> dict[str, str]:
    """Returns a document's `filename` and `file_data`. OpenAI reads the kind of a file from the end of its name."""
    name = block.name if block.name.lower().endswith(".pdf") else f"{block.name}.pdf"
    return {"filename": name, "file_data": f"data:{block.mime_type};base64,{block.data}"}
